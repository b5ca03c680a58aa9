// Carries out the planner's actions on the state.
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/action.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Carries out one action. Notes in `changes` the jobs that must be stored and the nodes whose
// desired state may have changed. The action must come from a plan of exactly this state. `now` is
// monotonic. `wall` is for the times in records that people read.
void Perform(Action action, absl::Time now, absl::Time wall, ClusterState* state, Changes* changes);

}  // namespace accel::coordinator
