#include "cli/config/core/setting.h"

#include <unordered_map>

#include "absl/strings/numbers.h"
#include "common/check.h"

namespace accel::cli {
namespace {

constexpr Section kSections[] = {
    {"dynamo_config", "dynamo_"}, {"fp8_config", "fp8_"},
    {"fsdp_config", "fsdp_"},     {"parallelism_config", "parallelism_config_"},
    {"deepspeed_config", ""},     {"megatron_lm_config", "megatron_lm_"},
    {"mpirun_config", ""},        {"ipex_config", ""},
};

constexpr OldName kOldNames[] = {
    {"fsdp_config", "fsdp_backward_prefetch_policy", "fsdp_backward_prefetch"},
    // Accelerate's questionnaire writes these three, and nothing of Accelerate reads them.
    {"fp8_config", "fp8_amax_history_length", "fp8_amax_history_len"},
    {"fp8_config", "fp8_amax_compute_algorithm", "fp8_amax_compute_algo"},
    {"fp8_config", "fp8_optimization_level", "fp8_opt_level"},
};

using Index = std::unordered_map<std::string, const Setting*>;

const Index& ByName() {
  static const Index* const index = [] {
    auto* made = new Index;
    for (const Setting* setting : AllSettings()) made->emplace(setting->name, setting);
    return made;
  }();
  return *index;
}

}  // namespace

const std::vector<const Setting*>& AllSettings() {
  static const auto* const all = [] {
    auto* made = new std::vector<const Setting*>;
    for (absl::Span<const Setting> part :
         {LaunchSettings(), DynamoAndFp8Settings(), ShardingSettings(), DeepSpeedSettings(),
          MegatronSettings(), RefusedSettings()}) {
      for (const Setting& setting : part) made->push_back(&setting);
    }
    return made;
  }();
  return *all;
}

absl::Span<const Section> AllSections() { return kSections; }

absl::Span<const OldName> OldNames() { return kOldNames; }

const Setting* FindSetting(absl::string_view name) {
  const auto found = ByName().find(std::string(name));
  return found == ByName().end() ? nullptr : found->second;
}

const Setting& GetSetting(absl::string_view name) {
  const Setting* setting = FindSetting(name);
  ACCEL_CHECK(setting != nullptr, "a setting of this name");
  return *setting;
}

bool IsInFile(const Setting& setting) {
  return setting.given != Given::kFlag && setting.given != Given::kSwitch;
}

bool IsFlag(const Setting& setting) { return setting.given != Given::kFile; }

bool IsSwitch(const Setting& setting) {
  return setting.given == Given::kSwitch || setting.given == Given::kFileAndSwitch;
}

Value DefaultOf(const Setting& setting) {
  if (setting.fallback.empty()) return {};
  int64_t number = 0;
  double real = 0;
  switch (setting.kind) {
    case Kind::kBool:
      return {setting.fallback == "true"};
    case Kind::kBit:
      return {int64_t{setting.fallback == "true"}};
    case Kind::kInt:
      ACCEL_CHECK(absl::SimpleAtoi(setting.fallback, &number), "a default that is a number");
      return {number};
    case Kind::kFloat:
      ACCEL_CHECK(absl::SimpleAtod(setting.fallback, &real), "a default that is a number");
      return {real};
    case Kind::kTruth:
    case Kind::kText:
    case Kind::kNames:
      break;
  }
  return {std::string(setting.fallback)};
}

}  // namespace accel::cli
