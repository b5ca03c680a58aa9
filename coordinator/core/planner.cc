#include "coordinator/core/planner.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/job_phase.h"
#include "coordinator/core/growth.h"
#include "coordinator/core/job_state.h"
#include "coordinator/core/ledger.h"
#include "coordinator/core/perform.h"
#include "coordinator/core/queue.h"
#include "coordinator/core/step.h"

namespace accel::coordinator {
namespace {

// Maximum number of rounds until the jobs come to rest. It is above the longest path of one job
// without an event from outside: from a restart through the queue to a refusal.
constexpr int kMaxRounds = 16;

// Delay before planning again if the jobs do not come to rest. The coordinator does its other work
// in the meantime.
constexpr absl::Duration kPutOff = absl::Milliseconds(100);

bool OnlyExplain(const std::vector<Action>& actions) {
  return std::all_of(actions.begin(), actions.end(),
                     [](const Action& action) { return std::holds_alternative<Explain>(action); });
}

}  // namespace

Plan MakePlan(const ClusterState& state, absl::Time now) {
  Plan plan;
  plan.wake_at = absl::InfiniteFuture();
  std::vector<const JobEntry*> queue;
  std::vector<common::JobId> growable;
  // Finished jobs are few (Limits::max_finished_jobs). Skipping them is faster than looking up each
  // unfinished one.
  for (const auto& [id, job] : state.jobs) {
    if (common::IsFinal(job.job.phase())) continue;
    if (std::optional<Action> step = NextStep(state, job, now, &plan.wake_at)) {
      plan.actions.push_back(*std::move(step));
    } else if (job.job.phase() == v1::PENDING) {
      queue.push_back(&job);
    } else if (MayGrow(state, job, now)) {
      growable.push_back(id);
    }
  }
  const bool no_job_steps = plan.actions.empty();
  if (!queue.empty() || !growable.empty()) {
    Ledger ledger(state, now);
    // The queue comes first: while a job waits for others to end, none grows.
    if (!PlanQueue(state, queue, &ledger, &plan.actions, &plan.wake_at)) {
      PlanGrowth(state, growable, ledger, now, &plan.actions, &plan.wake_at);
    }
  }
  const int over = static_cast<int>(state.finished.size()) - state.limits.max_finished_jobs;
  int64_t bytes = state.job_bytes;
  for (int i = 0; i < static_cast<int>(state.finished.size()); ++i) {
    if (i >= over && bytes <= state.limits.max_job_bytes / 2) break;
    bytes -= state.jobs.at(state.finished[i]).bytes;
    plan.actions.push_back(DropJob{state.finished[i], "Only the newest finished jobs are kept."});
  }
  // Another sentence for a job of the queue leads to nothing else.
  plan.is_last = no_job_steps && OnlyExplain(plan.actions);
  if (!plan.actions.empty()) {
    plan.reason =
        std::visit([](const auto& action) { return action.reason; }, plan.actions.front());
  }
  return plan;
}

Plan PlanToRest(absl::Time now, absl::Time wall, ClusterState* state, Changes* changes) {
  Plan plan = MakePlan(*state, now);
  for (int round = 1; !plan.actions.empty(); ++round) {
    if (round > kMaxRounds) {
      plan.wake_at = now + kPutOff;
      break;
    }
    for (const Action& action : plan.actions) Perform(action, now, wall, state, changes);
    if (plan.is_last) {
      plan.actions.clear();
    } else {
      plan = MakePlan(*state, now);
    }
  }
  return plan;
}

}  // namespace accel::coordinator
