#include "cli/config/core/launch_plan.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/config/core/worker_variables.h"
#include "cli/config/core/world_plan.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

constexpr int64_t kMaxRestarts = 10'000;

// Fills in what needs no decision.
absl::Status CopySettings(const EffectiveSettings& settings, const HostFacts& host,
                          LaunchPlan* plan) {
  plan->mixed_precision = absl::AsciiStrToLower(settings.Text("mixed_precision"));
  plan->debug = settings.Is("debug");
  plan->role = settings.Text("role");
  plan->log_dir = settings.Text("log_dir");
  plan->coordinator = settings.Text("coordinator");
  const int64_t restarts = settings.Int("max_restarts").value_or(0);
  if (restarts < 0 || restarts > kMaxRestarts) {
    return absl::InvalidArgumentError(
        absl::StrCat("--max_restarts must be a number from 0 to ", kMaxRestarts));
  }
  plan->max_restarts = static_cast<int>(restarts);
  if (settings.IsFlagGiven("mixed_precision") && settings.file().has_value() &&
      plan->mixed_precision == "bf16" && host.bf16 == false) {
    return absl::InvalidArgumentError(
        "--mixed_precision bf16: the GPUs of this machine do not compute in bf16");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LaunchPlan> PlanLaunch(const EffectiveSettings& settings, const HostFacts& host) {
  LaunchPlan plan;
  if (settings.file().has_value()) plan.notes = settings.file()->notes;
  ACCEL_RETURN_IF_ERROR(CopySettings(settings, host, &plan));
  ACCEL_RETURN_IF_ERROR(PlanWorld(settings, host, &plan));
  ACCEL_RETURN_IF_ERROR(AddWorkerVariables(settings, host, &plan));
  return plan;
}

}  // namespace accel::cli
