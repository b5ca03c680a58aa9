// Carries out the planner's actions on the state.
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/action.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// `now` is monotonic; `wall` stamps records for people. The action must come from a plan of this
// very state.
void Perform(const Action& action, absl::Time now, absl::Time wall, ClusterState* state,
             Changes* changes);

}  // namespace accel::coordinator
