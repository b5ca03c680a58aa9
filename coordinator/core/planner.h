// The decisions of the coordinator, as a function of its state and the time.
//
// The planner is level-triggered: it does not react to single events. It looks at the whole state
// of everything that may need an action, and proposes the missing actions. A lost or repeated event
// therefore does no harm. The planner does no I/O and reads no clock, so tests give it any
// state and time.
//
// Everything that may need an action is on the state's agenda (agenda.h), or waits for a change in
// the ledger (ledger.h). A look at the rest would find nothing. tests/scenarios checks this after
// every step (docs/decisions/0046).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/core/action.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/core/ledger.h"
#include "coordinator/core/queue.h"
#include "coordinator/core/step.h"
#include "coordinator/core/waiting_jobs.h"

namespace accel::coordinator {

struct Plan {
  std::vector<Action> actions;  // The caller performs them in this order.
  std::string reason;           // The first action's reason. Empty if there are no actions.
  absl::Time wake_at;           // The caller plans again by then, even without an event.
  // What the plan has found about jobs that have no action in it.
  std::vector<std::pair<common::JobId, Look>> looks;
  // When the queue may need an action even without an event. nullopt if the plan has not looked at
  // it.
  std::optional<absl::Time> queue_at;
  QueuePass queue;  // What the lines must remember of this plan.
};

// Returns the next actions for the jobs and the queue in `due`. Looks at the queue, too, if the
// ledger has changed. Equal arguments give equal plans. A plan changes the phase of a job at most
// once. After performing a plan, the caller therefore plans again for the jobs that its actions
// have touched, until the plan is empty. PlanToRest() does this with the ledger and the waiting
// jobs of the state.
Plan MakePlan(const ClusterState& state, const Agenda::Due& due, absl::Time now,
              const WaitingJobs& waiting, Ledger* ledger);

// Does the same for everything in the state, and remembers nothing from earlier plans, for tests.
Plan PlanEverything(const ClusterState& state, absl::Time now);

// Returns when the planner must look at something even if nothing happens.
absl::Time NextLook(const ClusterState& state);

// Plans for the state's agenda and performs the plans, until a plan is empty. Returns that plan. If
// the number of rounds exceeds a bound, returns a plan with actions that were not performed. No
// known input leads to this. The caller then logs the plan and plans again at wake_at.
Plan PlanToRest(absl::Time now, absl::Time wall, ClusterState* state, Changes* changes);

}  // namespace accel::coordinator
