#include "cli/config/core/to_fsdp2.h"

#include <array>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

// The strategies in the order of their numbers from 1, and whether each frees parameters after
// forward.
constexpr std::pair<absl::string_view, bool> kStrategies[] = {{"FULL_SHARD", true},
                                                              {"SHARD_GRAD_OP", false},
                                                              {"NO_SHARD", false},
                                                              {"HYBRID_SHARD", true},
                                                              {"HYBRID_SHARD_ZERO2", false}};

// Returns the strategy that a value names, in any case, with torch's underscore or by its number.
const std::pair<absl::string_view, bool>* FindStrategy(const Value& value) {
  std::string text = PythonText(value);
  if (absl::StartsWith(text, "_")) text.erase(0, 1);
  for (size_t i = 0; i < std::size(kStrategies); ++i) {
    if (absl::EqualsIgnoreCase(text, kStrategies[i].first)) return &kStrategies[i];
    if (text == absl::StrCat(i + 1)) return &kStrategies[i];
  }
  return nullptr;
}

std::string WithPrefix(absl::string_view key) {
  return absl::StartsWith(key, "fsdp_") ? std::string(key) : absl::StrCat("fsdp_", key);
}

class Converter {
 public:
  Converter(absl::string_view file, Fsdp2Config* to) : file_(file), to_(*to) {}

  absl::Status Convert(const Node& section) {
    for (const Member& member : section.members) ACCEL_RETURN_IF_ERROR(ConvertKey(member));
    Keys()["fsdp_version"] = Value{int64_t{2}};
    return absl::OkStatus();
  }

 private:
  std::map<std::string, Value>& Keys() { return to_.tree["fsdp_config"]; }

  void Note(const Member& member, absl::string_view sentence) {
    to_.notes.push_back(absl::StrCat(PlaceOf(file_, member.mark), ": ", member.key, " ", sentence));
  }

  absl::Status ConvertKey(const Member& member) {
    const std::string key = WithPrefix(member.key);
    for (const char* removed :
         {"fsdp_backward_prefetch", "fsdp_backward_prefetch_policy", "fsdp_forward_prefetch",
          "fsdp_sync_module_states", "fsdp_use_orig_params"}) {
      if (key != removed) continue;
      Note(member, "has no effect in version 2 and was removed");
      return absl::OkStatus();
    }
    if (key == "fsdp_sharding_strategy" || key == "fsdp_reshard_after_forward") {
      return ConvertStrategy(member);
    }
    Keys()[key] = member.node->value;
    const std::string text = PythonText(member.node->value);
    if (key == "fsdp_state_dict_type" &&
        (absl::EqualsIgnoreCase(text, "LOCAL_STATE_DICT") || text == "2")) {
      Keys()[key] = Value{"SHARDED_STATE_DICT"};
      Note(member, "was LOCAL_STATE_DICT, which version 2 refuses; it is now SHARDED_STATE_DICT");
    }
    return absl::OkStatus();
  }

  absl::Status ConvertStrategy(const Member& member) {
    const Value& value = member.node->value;
    const bool may_be_truth = WithPrefix(member.key) == "fsdp_reshard_after_forward";
    const auto* strategy = FindStrategy(value);
    const std::optional<bool> truth = ParseTruth(PythonText(value));
    if (strategy == nullptr && may_be_truth && truth.has_value()) {
      Keys()["fsdp_reshard_after_forward"] = Value{*truth};
      is_reshard_given_ = true;
      return absl::OkStatus();
    }
    if (strategy == nullptr) {
      return ErrorAt(file_, member.node->mark,
                     absl::StrCat(member.key,
                                  " must be FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, "
                                  "HYBRID_SHARD or HYBRID_SHARD_ZERO2"));
    }
    if (may_be_truth || !is_reshard_given_) {
      Keys()["fsdp_reshard_after_forward"] = Value{strategy->second};
    }
    is_reshard_given_ |= may_be_truth;
    if (strategy->first == "NO_SHARD") {
      Note(member,
           "was NO_SHARD: version 2 always shards; without shards, use distributed_type: "
           "MULTI_GPU");
    } else if (absl::StartsWith(strategy->first, "HYBRID")) {
      Note(member, absl::StrCat("was ", strategy->first,
                                ": version 2 shards over all GPUs; to replicate between machines, "
                                "add parallelism_config with dp_replicate_size and "
                                "dp_shard_size"));
    }
    return absl::OkStatus();
  }

  const absl::string_view file_;
  Fsdp2Config& to_;
  bool is_reshard_given_ = false;  // Its value wins over fsdp_sharding_strategy.
};

}  // namespace

absl::StatusOr<Fsdp2Config> ConvertToFsdp2(absl::string_view file, const Node& root) {
  Fsdp2Config config;
  const Node* fsdp = nullptr;
  for (const Member& member : root.members) {
    if (!member.node->is_mapping) {
      config.tree[""][member.key] = member.node->value;
      continue;
    }
    if (member.key == "fsdp_config") fsdp = member.node.get();
    auto& keys = config.tree[member.key];
    for (const Member& inner : member.node->members) keys[inner.key] = inner.node->value;
  }
  if (fsdp == nullptr || fsdp->members.empty()) {
    config.notes.push_back(absl::StrCat(file, ": it has no fsdp_config, so nothing was converted"));
    return config;
  }
  for (const Member& member : fsdp->members) {
    if (WithPrefix(member.key) != "fsdp_version" || PythonText(member.node->value) != "2") continue;
    config.notes.push_back(absl::StrCat(file, ": fsdp_version is 2, so nothing was converted"));
    return config;
  }
  config.tree["fsdp_config"].clear();
  Converter converter(file, &config);
  ACCEL_RETURN_IF_ERROR(converter.Convert(*fsdp));
  config.is_converted = true;
  return config;
}

}  // namespace accel::cli
