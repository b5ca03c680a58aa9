#include "cli/config/core/fsdp_rules.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace accel::cli {
namespace {

bool IsVersion2(const EffectiveSettings& settings) { return settings.Text("fsdp_version") == "2"; }

// Returns true if the value names a strategy of version 1, in any case or by its number.
bool IsStrategy(absl::string_view text) {
  for (absl::string_view choice :
       absl::StrSplit(GetSetting("fsdp_sharding_strategy").choices, '|')) {
    if (absl::EqualsIgnoreCase(choice, text)) return true;
  }
  return false;
}

absl::Status CheckReshard(const EffectiveSettings& settings) {
  const std::string text = settings.Text("fsdp_reshard_after_forward");
  if (ParseTruth(text).has_value()) return absl::OkStatus();
  if (IsVersion2(settings)) {
    return settings.Refuse(
        "fsdp_reshard_after_forward",
        "version 2 of FSDP takes true or false; `accel to-fsdp2` converts a file");
  }
  if (IsStrategy(text)) return absl::OkStatus();
  return settings.Refuse("fsdp_reshard_after_forward",
                         "version 1 of FSDP takes a sharding strategy, such as FULL_SHARD");
}

}  // namespace

absl::Status CheckFsdp(const EffectiveSettings& settings) {
  if (settings.Is("fsdp_cpu_ram_efficient_loading") && !settings.Is("fsdp_sync_module_states")) {
    return settings.Refuse(
        "fsdp_sync_module_states",
        "When using `--fsdp_cpu_ram_efficient_loading` set `--fsdp_sync_module_states` to "
        "`True`, because only rank 0 loads the parameters");
  }
  if (settings.Is("fsdp_activation_checkpointing_offload")) {
    if (!settings.Is("fsdp_activation_checkpointing")) {
      return settings.Refuse("fsdp_activation_checkpointing_offload",
                             "it needs fsdp_activation_checkpointing: true");
    }
    if (!IsVersion2(settings)) {
      return settings.Refuse("fsdp_activation_checkpointing_offload", "it needs fsdp_version: 2");
    }
  }
  const std::string state = settings.Text("fsdp_state_dict_type");
  if (absl::EqualsIgnoreCase(state, "LOCAL_STATE_DICT") || state == "2") {
    return settings.Refuse(
        "fsdp_state_dict_type",
        "a local state cannot be loaded again, and version 2 of FSDP has none; use "
        "SHARDED_STATE_DICT");
  }
  if (settings.Int("fsdp_min_num_params").value_or(0) < 0) {
    return settings.Refuse("fsdp_min_num_params",
                           "it must be a number of parameters, or 0 for one unit");
  }
  return CheckReshard(settings);
}

std::vector<std::string> FsdpNotes(const EffectiveSettings& settings) {
  std::vector<std::string> notes;
  if (IsVersion2(settings)) {
    for (const char* name :
         {"fsdp_sharding_strategy", "fsdp_use_orig_params", "fsdp_sync_module_states",
          "fsdp_forward_prefetch", "fsdp_backward_prefetch"}) {
      if (!settings.IsGiven(name)) continue;
      if (settings.Text(name) == "NO_PREFETCH" || settings.Text(name) == "False") continue;
      notes.push_back(absl::StrCat(settings.Name(name), " has no effect in version 2 of FSDP"));
    }
    return notes;
  }
  const std::string reshard = settings.Text("fsdp_reshard_after_forward");
  if (settings.IsGiven("fsdp_reshard_after_forward") && !ParseTruth(reshard).has_value() &&
      settings.IsGiven("fsdp_sharding_strategy") &&
      !absl::EqualsIgnoreCase(reshard, settings.Text("fsdp_sharding_strategy"))) {
    notes.push_back(absl::StrCat(settings.Name("fsdp_reshard_after_forward"), " is ", reshard,
                                 " and has no effect, because fsdp_sharding_strategy is ",
                                 settings.Text("fsdp_sharding_strategy")));
  }
  return notes;
}

std::string FsdpStrategy(const EffectiveSettings& settings) {
  const std::string reshard = settings.Text("fsdp_reshard_after_forward");
  const bool is_strategy = IsStrategy(reshard) && !ParseTruth(reshard).has_value();
  if (!IsVersion2(settings) && is_strategy && !settings.IsGiven("fsdp_sharding_strategy")) {
    return reshard;
  }
  return settings.Text("fsdp_sharding_strategy");
}

}  // namespace accel::cli
