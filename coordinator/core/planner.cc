#include "coordinator/core/planner.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "common/job_phase.h"
#include "coordinator/core/counting.h"
#include "coordinator/core/growth.h"
#include "coordinator/core/job_state.h"
#include "coordinator/core/ledger.h"
#include "coordinator/core/perform.h"
#include "coordinator/core/queue.h"
#include "coordinator/core/step.h"

namespace accel::coordinator {
namespace {

// Maximum number of rounds until a plan is empty. It is above the longest path of one job without
// an event from outside: from a restart through the queue to a refusal.
constexpr int kMaxRounds = 16;

// Delay before planning again if the plans do not become empty. The coordinator does its other work
// in the meantime.
constexpr absl::Duration kPutOff = absl::Milliseconds(100);

// The jobs that wait for room, oldest first.
struct Waiting {
  std::vector<const JobEntry*> queue;
  std::vector<common::JobId> growable;  // They run, and may grow.
};

// Returns the jobs that wait for room, except the jobs in `stepping`, for which the plan already
// has an action.
Waiting WhoWaits(const ClusterState& state, const std::set<common::JobId>& stepping, absl::Time now,
                 absl::Time* wake_at) {
  Waiting waiting;
  for (const auto& [id, job] : state.jobs) {
    if (stepping.contains(id)) continue;
    if (job.job.phase() == v1::PENDING) waiting.queue.push_back(&job);
    if (MayGrow(state, job, now, wake_at)) waiting.growable.push_back(id);
  }
  return waiting;
}

void PlanRoom(const ClusterState& state, const std::set<common::JobId>& stepping, absl::Time now,
              Plan* plan) {
  const Waiting waiting = WhoWaits(state, stepping, now, &plan->queue_at);
  if (waiting.queue.empty() && waiting.growable.empty()) return;
  Ledger ledger(state, now);
  plan->queue_at = std::min(plan->queue_at, ledger.changes_at());
  // The queue comes first: no job grows while a job in the queue waits for others to end.
  if (PlanQueue(state, waiting.queue, &ledger, &plan->actions)) return;
  PlanGrowth(state, waiting.growable, ledger, now, &plan->actions, &plan->queue_at);
}

void PlanDrops(const ClusterState& state, std::vector<Action>* actions) {
  const int over = static_cast<int>(state.finished.size()) - state.limits.max_finished_jobs;
  int64_t bytes = state.job_bytes;
  for (int i = 0; i < static_cast<int>(state.finished.size()); ++i) {
    if (i >= over && bytes <= state.limits.max_job_bytes / 2) break;
    bytes -= state.jobs.at(state.finished[i]).bytes;
    actions->push_back(DropJob{state.finished[i], "Only the newest finished jobs are kept."});
  }
}

// Stores what the plan has found: the time of the next look at each job, and the counts
// of its parts.
void NoteLooks(const Plan& plan, bool queue, absl::Time now, ClusterState* state) {
  for (const auto& [id, time] : plan.job_times) {
    state->agenda.WakeAt(id, time);
    JobEntry* job = FindJob(state, id);
    if (job != nullptr && HoldsNodes(job->job.phase())) job->counts = CountParts(*state, *job, now);
  }
  if (queue) state->agenda.WakeQueueAt(plan.queue_at);
}

const common::JobId& JobOf(const Action& action) {
  return std::visit([](const auto& each) -> const common::JobId& { return each.job; }, action);
}

}  // namespace

Agenda::Due Everything(const ClusterState& state) {
  const std::set<common::JobId>& jobs = state.unfinished.ids();
  return {{jobs.begin(), jobs.end()}, true};
}

Plan MakePlan(const ClusterState& state, const Agenda::Due& due, absl::Time now) {
  Plan plan;
  plan.wake_at = plan.queue_at = absl::InfiniteFuture();
  std::set<common::JobId> stepping;
  for (const common::JobId& id : due.jobs) {
    const JobEntry* job = FindJob(state, id);
    absl::Time wake_at = absl::InfiniteFuture();
    std::optional<Action> step;
    if (job != nullptr && !common::IsFinal(job->job.phase())) {
      step = NextStep(state, *job, now, &wake_at);
    }
    if (step.has_value()) {
      plan.actions.push_back(*std::move(step));
      stepping.insert(id);
    } else {
      plan.job_times.emplace_back(id, wake_at);
      plan.wake_at = std::min(plan.wake_at, wake_at);
    }
  }
  if (due.queue) PlanRoom(state, stepping, now, &plan);
  plan.wake_at = std::min(plan.wake_at, plan.queue_at);
  PlanDrops(state, &plan.actions);
  if (!plan.actions.empty()) {
    plan.reason =
        std::visit([](const auto& action) { return action.reason; }, plan.actions.front());
  }
  return plan;
}

Plan PlanToRest(absl::Time now, absl::Time wall, ClusterState* state, Changes* changes) {
  for (int round = 0;; ++round) {
    const Agenda::Due due = state->agenda.Take(now);
    Plan plan = MakePlan(*state, due, now);
    NoteLooks(plan, due.queue, now, state);
    if (plan.actions.empty()) {
      plan.wake_at = state->agenda.next();
      return plan;
    }
    if (round == kMaxRounds) {
      for (const Action& action : plan.actions) state->agenda.Touch(JobOf(action));
      state->agenda.TouchQueue();
      plan.wake_at = now + kPutOff;
      return plan;
    }
    for (const Action& action : plan.actions) Perform(action, now, wall, state, changes);
  }
}

}  // namespace accel::coordinator
