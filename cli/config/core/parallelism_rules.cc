#include "cli/config/core/parallelism_rules.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace accel::cli {
namespace {

constexpr int64_t kMaxSize = 10'000'000;

struct Sizes {
  int64_t replicate = 1, shard = 1, tensor = 1, context = 1, sequence = 1;
};

// Returns the product, or a number above kMaxSize if it is above kMaxSize.
int64_t Product(const Sizes& sizes) {
  int64_t product = 1;
  for (const int64_t size :
       {sizes.replicate, sizes.shard, sizes.tensor, sizes.context, sizes.sequence}) {
    product *= size;
    if (product > kMaxSize) return product;
  }
  return product;
}

// Returns the given sizes that are not 1, such as "dp_shard_size 4 × tp_size 2".
std::string Factors(const EffectiveSettings& settings, std::string* first) {
  std::string text;
  for (const char* kind : {"dp_replicate_size", "dp_shard_size", "tp_size", "cp_size", "sp_size"}) {
    const std::string name = absl::StrCat("parallelism_config_", kind);
    if (settings.Int(name).value_or(1) == 1) continue;
    if (first->empty()) *first = name;
    absl::StrAppend(&text, text.empty() ? "" : " × ", kind, " ", settings.Text(name));
  }
  return text;
}

absl::Status ReadSize(const EffectiveSettings& settings, const std::string& name, int64_t* to) {
  *to = settings.Int(name).value_or(1);
  if (*to >= 1 && *to <= kMaxSize) return absl::OkStatus();
  return settings.Refuse(name, absl::StrCat("it must be a number from 1 to ", kMaxSize));
}

absl::Status ReadSizes(const EffectiveSettings& settings, Sizes* to) {
  absl::Status status = ReadSize(settings, "parallelism_config_dp_replicate_size", &to->replicate);
  status.Update(ReadSize(settings, "parallelism_config_dp_shard_size", &to->shard));
  status.Update(ReadSize(settings, "parallelism_config_tp_size", &to->tensor));
  status.Update(ReadSize(settings, "parallelism_config_cp_size", &to->context));
  status.Update(ReadSize(settings, "parallelism_config_sp_size", &to->sequence));
  return status;
}

}  // namespace

absl::Status CheckParallelism(const EffectiveSettings& settings, std::optional<int64_t> processes) {
  Sizes sizes;
  if (const absl::Status read = ReadSizes(settings, &sizes); !read.ok()) return read;
  if (sizes.context > 1 && sizes.sequence > 1) {
    return settings.Refuse("parallelism_config_sp_size",
                           "sequence parallelism cannot be combined with context parallelism "
                           "(parallelism_config_cp_size); set one of them to 1");
  }
  if ((sizes.tensor > 1 || sizes.context > 1) && sizes.replicate > 1 && sizes.shard == 1) {
    return settings.Refuse("parallelism_config_dp_replicate_size",
                           "tensor and context parallelism need shards, not only replicas; set "
                           "parallelism_config_dp_shard_size too");
  }
  const int64_t product = Product(sizes);
  // If all sizes are 1, workers replicate the model over all processes, as Accelerate does.
  if (product == 1 || !processes.has_value() || product == *processes) return absl::OkStatus();
  std::string first;
  const std::string factors = Factors(settings, &first);
  return absl::InvalidArgumentError(
      absl::StrCat(settings.Name(first), ": the sizes of parallelism_config make ",
                   product > kMaxSize ? "too many" : absl::StrCat(product), " processes (", factors,
                   "), and num_processes is ", *processes, "; change one of them"));
}

}  // namespace accel::cli
