#include "coordinator/core/planner.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "common/job_phase.h"
#include "coordinator/core/growth.h"
#include "coordinator/core/ledger.h"
#include "coordinator/core/perform.h"
#include "coordinator/core/queue.h"
#include "coordinator/core/sort_waiting.h"
#include "coordinator/core/step.h"

namespace accel::coordinator {
namespace {

// Maximum number of rounds until a plan is empty. It is above the longest path of one job without
// an event from outside: from a restart through the queue to a refusal.
constexpr int kMaxRounds = 16;

// Delay before planning again if the plans do not become empty. The coordinator does its other work
// in the meantime.
constexpr absl::Duration kPutOff = absl::Milliseconds(100);

// Plans what depends on the room on nodes, if the room or the queue has changed.
void PlanRoom(const ClusterState& state, const Agenda::Due& due,
              const std::set<common::JobId>& stepping, absl::Time now, const WaitingJobs& waiting,
              Ledger* ledger, Plan* plan) {
  // While nothing waits, the ledger looks only at nodes that are new, and collects the others.
  bool changed = false;
  if (waiting.empty()) {
    ledger->Prepare(state, now);
  } else {
    changed = ledger->Update(state, now);
  }
  if (!due.queue && !changed) return;
  absl::Time wake_at = absl::InfiniteFuture();
  plan->queue = PlanQueue(state, waiting, stepping, ledger, &plan->actions);
  std::vector<const JobEntry*> growable;
  for (const auto& [id, entry] : waiting.growable) {
    if (!stepping.contains(id) && MayGrow(state, *entry, now, &wake_at)) growable.push_back(entry);
  }
  // The queue comes first: no job grows while a job in the queue waits for others to end.
  if (!plan->queue.blocked) PlanGrowth(state, growable, *ledger, now, &plan->actions, &wake_at);
  plan->queue_at = wake_at;
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

// Stores what the plan has found: the times of the next looks, the counts of parts, and what the
// reasons in the lines say.
void NoteLooks(Plan* plan, ClusterState* state) {
  for (auto& [id, look] : plan->looks) {
    state->agenda.WakeAt(id, look.wake_at);
    if (look.counts.known()) FindJob(state, id)->counts = std::move(look.counts);
  }
  if (plan->queue_at.has_value()) state->agenda.WakeQueueAt(*plan->queue_at);
  for (const GroupNews& news : plan->queue.gpu_news) state->waiting.gpu_line.Remember(news);
  for (const GroupNews& news : plan->queue.cpu_news) state->waiting.cpu_line.Remember(news);
}

}  // namespace

Plan MakePlan(const ClusterState& state, const Agenda::Due& due, absl::Time now,
              const WaitingJobs& waiting, Ledger* ledger) {
  Plan plan;
  plan.wake_at = absl::InfiniteFuture();
  std::set<common::JobId> stepping;
  for (const common::JobId& id : due.jobs) {
    const JobEntry* job = FindJob(state, id);
    Look look;
    if (job != nullptr && !common::IsFinal(job->job.phase())) look = LookAtJob(state, *job, now);
    if (look.step.has_value()) {
      plan.actions.push_back(*std::move(look.step));
      stepping.insert(id);
    } else {
      plan.wake_at = std::min(plan.wake_at, look.wake_at);
      plan.looks.emplace_back(id, std::move(look));
    }
  }
  PlanRoom(state, due, stepping, now, waiting, ledger, &plan);
  if (plan.queue_at.has_value()) plan.wake_at = std::min(plan.wake_at, *plan.queue_at);
  if (!waiting.empty()) plan.wake_at = std::min(plan.wake_at, ledger->changes_at());
  PlanDrops(state, &plan.actions);
  if (!plan.actions.empty()) {
    plan.reason =
        std::visit([](const auto& action) { return action.reason; }, plan.actions.front());
  }
  return plan;
}

Plan PlanEverything(const ClusterState& state, absl::Time now) {
  const std::set<common::JobId>& jobs = state.unfinished.ids();
  Ledger ledger;
  return MakePlan(state, {{jobs.begin(), jobs.end()}, true}, now, FindWaiting(state), &ledger);
}

absl::Time NextLook(const ClusterState& state) {
  const absl::Time next = state.agenda.next();
  return state.waiting.empty() ? next : std::min(next, state.ledger.changes_at());
}

Plan PlanToRest(absl::Time now, absl::Time wall, ClusterState* state, Changes* changes) {
  for (int round = 0;; ++round) {
    const Agenda::Due due = state->agenda.Take(now);
    Plan plan = MakePlan(*state, due, now, state->waiting, &state->ledger);
    NoteLooks(&plan, state);
    if (plan.actions.empty()) {
      plan.wake_at = NextLook(*state);
      return plan;
    }
    if (round == kMaxRounds) {
      for (const Action& action : plan.actions) state->agenda.Touch(JobOf(action));
      state->agenda.TouchQueue();
      state->waiting = FindWaiting(*state);  // The reasons in the plan are not written.
      plan.wake_at = now + kPutOff;
      return plan;
    }
    for (Action& action : plan.actions) Perform(std::move(action), now, wall, state, changes);
  }
}

}  // namespace accel::coordinator
