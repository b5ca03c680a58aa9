// The last part of a plan: the variables that workers get from the settings.
#pragma once

#include "absl/status/status.h"
#include "cli/config/core/launch_plan.h"

namespace accel::cli {

// Appends to `plan->env` and `plan->notes`. Errors are those of PlanLaunch().
absl::Status AddWorkerVariables(const EffectiveSettings& settings, const HostFacts& host,
                                LaunchPlan* plan);

}  // namespace accel::cli
