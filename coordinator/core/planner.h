// The decisions of the coordinator, as a function of its state and the time.
//
// The planner is level-triggered. It does not react to single events. It looks at the whole state
// of what may need an action, and proposes what is missing, so a lost or repeated event does no
// harm. It does no I/O and reads no clock, so tests give it any state and time.
//
// What may need an action is on the state's agenda (agenda.h). A look at everything else would find
// nothing, which tests/scenarios checks after every step (docs/decisions/0046).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/core/action.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

struct Plan {
  std::vector<Action> actions;  // The caller performs them in this order.
  std::string reason;           // The first action's reason. Empty if there are no actions.
  absl::Time wake_at;           // The caller plans again by then, even without an event.
  // When each job that the plan has looked at may need an action, even without an event. Leaves out
  // the jobs that the actions change.
  std::vector<std::pair<common::JobId, absl::Time>> job_times;
  absl::Time queue_at;  // The same for the queue, if the plan has looked at it.
};

// Returns what an agenda would list for a look at everything, for tests.
Agenda::Due Everything(const ClusterState& state);

// Returns the next actions for what is due. Equal arguments give equal plans. A plan changes the
// phase of a job at most once, so after performing it the caller plans again for what its actions
// have touched, until the plan is empty. PlanToRest() does this.
Plan MakePlan(const ClusterState& state, const Agenda::Due& due, absl::Time now);

// Plans for the state's agenda and performs, until the plan is empty, and returns that last plan.
// If the number of rounds exceeds a bound, returns a plan with actions that were not performed. No
// known input leads to this. The caller then logs it and plans again at wake_at.
Plan PlanToRest(absl::Time now, absl::Time wall, ClusterState* state, Changes* changes);

}  // namespace accel::coordinator
