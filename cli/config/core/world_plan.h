// The first part of a plan: the paradigm, the machines (machine_plan.h), and the devices.
#pragma once

#include "absl/status/status.h"
#include "cli/config/core/launch_plan.h"

namespace accel::cli {

// Fills in the paradigm, machines, processes, devices and wrapper. Errors are
// those of PlanLaunch().
absl::Status PlanWorld(const EffectiveSettings& settings, const HostFacts& host, LaunchPlan* plan);

}  // namespace accel::cli
