// What the coordinator decides, as a function.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/core/action.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

struct Plan {
  std::vector<Action> actions;  // Performed by the caller, in this order.
  std::string reason;           // Why these, or why none.
  absl::Time wake_at;           // Plan again no later than this, even without an event.
};

// Same input, same plan. A job moves by at most one step in a plan, so after performing it the
// caller plans again, until nothing is left to do: PlanToRest().
Plan MakePlan(const ClusterState& state, absl::Time now);

// Plans and performs until the plan is empty; returns that last plan. One that is not empty was not
// performed: the jobs do not come to rest, which no known input leads to. The caller says so, and
// plans again at wake_at.
Plan PlanToRest(absl::Time now, absl::Time wall, ClusterState* state, Changes* changes);

}  // namespace accel::coordinator
