// Checks that the planner's shortcuts are right: what it has not looked at needs no action, and
// what it has counted is what a look at everything counts (docs/decisions/0046).
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::scenarios {

// Call it after PlanToRest() with the same time. FAILED_PRECONDITION: a plan for everything has
// actions, or needs to be made again before the agenda says so, or some counts are wrong.
absl::Status CheckAtRest(const coordinator::ClusterState& state, absl::Time now);

}  // namespace accel::scenarios
