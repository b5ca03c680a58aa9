// The machines of a plan, and the number of processes on each of them.
#pragma once

#include "absl/status/status.h"
#include "cli/config/core/launch_plan.h"

namespace accel::cli {

// Fills in the machines, their processes, and whether a coordinator gets the job. Adds the notes on
// addresses without effect. Errors as of PlanLaunch().
absl::Status PlanMachines(const EffectiveSettings& settings, const HostFacts& host,
                          LaunchPlan* plan);

}  // namespace accel::cli
