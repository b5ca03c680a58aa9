// The decisions of the coordinator, as a function of its state and the time.
//
// The planner is level-triggered. It does not react to single events. Each time, it looks at the
// whole state and proposes what is missing, so a lost or repeated event does no harm. It does no
// I/O and reads no clock, so tests give it any state and time.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/core/action.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

struct Plan {
  std::vector<Action> actions;  // The caller performs them in this order.
  std::string reason;           // The first action's reason. Empty if there are no actions.
  bool is_last = false;         // Once these actions are performed, the next plan is empty.
  absl::Time wake_at;           // The caller plans again by then, even without an event.
};

// Returns the next actions. Equal arguments give equal plans. A plan changes the phase of a job
// at most once, so after performing it the caller plans again, until the plan is empty.
// PlanToRest() does this.
Plan MakePlan(const ClusterState& state, absl::Time now);

// Plans and performs until the plan is empty, and returns that last plan. If the number of rounds
// exceeds a bound, returns a plan with actions that were not performed. No known input leads to
// this. The caller then logs it and plans again at wake_at.
Plan PlanToRest(absl::Time now, absl::Time wall, ClusterState* state, Changes* changes);

}  // namespace accel::coordinator
