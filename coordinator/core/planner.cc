#include "coordinator/core/planner.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "coordinator/core/job_state.h"
#include "coordinator/core/perform.h"
#include "coordinator/core/queue.h"
#include "coordinator/core/step.h"

namespace accel {
namespace {

// The longest way through one job's life without an event from outside: from a restart through the
// queue to a refusal.
constexpr int kMostRounds = 12;

std::string Summary(const ClusterState& state, const Plan& plan) {
  if (!plan.actions.empty()) {
    return std::visit([](const auto& action) { return action.reason; }, plan.actions.front());
  }
  int waiting = 0;
  for (const JobId& id : state.unfinished) {
    if (state.jobs.at(id).job.phase() == v1::PENDING) ++waiting;
  }
  return absl::StrCat(state.unfinished.size() - waiting, " jobs hold nodes, ", waiting,
                      " wait in the queue; nothing is to be done.");
}

}  // namespace

Plan MakePlan(const ClusterState& state, absl::Time now) {
  Plan plan;
  plan.wake_at = absl::InfiniteFuture();
  std::vector<JobId> queue;
  for (const JobId& id : state.unfinished) {
    const JobEntry& job = state.jobs.at(id);
    if (std::optional<Action> step = NextStep(state, job, now, &plan.wake_at)) {
      plan.actions.push_back(*std::move(step));
    } else if (job.job.phase() == v1::PENDING) {
      queue.push_back(id);
    }
  }
  PlanQueue(state, queue, now, &plan.actions);
  const int over = static_cast<int>(state.finished.size()) - state.limits.max_finished_jobs;
  for (int i = 0; i < over; ++i) {
    plan.actions.push_back(DropJob{state.finished[i], "Only the newest finished jobs are kept."});
  }
  plan.reason = Summary(state, plan);
  return plan;
}

Plan PlanToRest(absl::Time now, absl::Time wall, ClusterState* state, Changes* changes) {
  for (int round = 0; round < kMostRounds; ++round) {
    Plan plan = MakePlan(*state, now);
    if (plan.actions.empty()) return plan;
    for (const Action& action : plan.actions) Perform(action, now, wall, state, changes);
  }
  ACCEL_CHECK(false, "every plan moves a job forward, and jobs come to rest");
  return Plan{};
}

}  // namespace accel
