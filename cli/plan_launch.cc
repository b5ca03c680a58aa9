#include "cli/plan_launch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/config/host_facts.h"
#include "cli/config/load_config.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

// Checks what the plan allows and `accel launch` does not do.
absl::Status CheckLaunchers(const EffectiveSettings& settings, const LaunchPlan& plan) {
  if (!plan.wrapper.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        settings.Name("num_machines"), " is ", plan.num_machines,
        ": accel does not start DeepSpeed's own launcher; set deepspeed_multinode_launcher: "
        "standard, and accel starts the processes on every machine"));
  }
  if (plan.num_machines > 1 && settings.IsFlagGiven("machine_rank") && plan.machine_rank > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--machine_rank ", plan.machine_rank,
                     ": one command starts the processes on every machine; run it once"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<EffectiveSettings> SettingsOf(const LaunchFlags& flags,
                                             const CallerContext& context) {
  const bool cpu =
      std::any_of(flags.settings.begin(), flags.settings.end(), [](const FlagSetting& given) {
        return given.setting->name == "cpu" && !IsFalse(given.value);
      });
  ACCEL_ASSIGN_OR_RETURN(auto file, LoadConfig(flags.config_file, cpu, context.env));
  return EffectiveSettings(std::move(file), flags.settings);
}

absl::StatusOr<LaunchPlan> PlanFor(const LaunchFlags& flags, const CallerContext& context) {
  ACCEL_ASSIGN_OR_RETURN(const EffectiveSettings settings, SettingsOf(flags, context));
  const bool with_gpus = !settings.Is("cpu") && !settings.Is("use_cpu");
  ACCEL_ASSIGN_OR_RETURN(LaunchPlan plan, PlanLaunch(settings, ReadHostFacts(context, with_gpus)));
  ACCEL_RETURN_IF_ERROR(CheckLaunchers(settings, plan));
  return plan;
}

}  // namespace accel::cli
