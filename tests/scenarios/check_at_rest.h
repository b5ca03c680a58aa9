// Checks that the planner's shortcuts are right: what it has not looked at needs no action, and
// what it has counted is what a look at everything counts (docs/decisions/0046).
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::scenarios {

// Called after PlanToRest(), with the same time. FAILED_PRECONDITION: a plan that looks at
// everything has actions, or must be made again earlier than the state says, or counts something
// else. The waiting jobs or the ledger differ from new ones. The planner would look again at once.
absl::Status CheckAtRest(const coordinator::ClusterState& state, absl::Time now);

}  // namespace accel::scenarios
