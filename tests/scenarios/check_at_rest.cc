#include "tests/scenarios/check_at_rest.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/core/counting.h"
#include "coordinator/core/ledger.h"
#include "coordinator/core/part.h"
#include "coordinator/core/planner.h"
#include "coordinator/core/sort_waiting.h"

namespace accel::scenarios {
namespace {

// Returns true if both lines have the same jobs in the same groups.
bool HaveSameJobs(const coordinator::WaitingLine& a, const coordinator::WaitingLine& b) {
  const auto same = [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.all == y.second.all;
  };
  return std::equal(a.groups().begin(), a.groups().end(), b.groups().begin(), b.groups().end(),
                    same);
}

// Returns true if each job of the line is in the group of its shape, and says one thing there.
bool IsPartitioned(const coordinator::WaitingLine& line) {
  for (const auto& [shape, group] : line.groups()) {
    const size_t says = group.answered.size() + group.behind.size() + group.others.size();
    if (group.all.empty() || says != group.all.size()) return false;
    for (const auto& [id, entry] : group.all) {
      if (entry->shape != shape) return false;
      if (!group.answered.contains(id) && !group.behind.contains(id) &&
          !group.others.contains(id)) {
        return false;
      }
    }
  }
  return true;
}

// While nothing waits, the ledger need not be up to date.
absl::Status CheckWaiting(const coordinator::ClusterState& state, absl::Time now) {
  const coordinator::WaitingJobs waiting = FindWaiting(state);
  if (!HaveSameJobs(waiting.gpu_line, state.waiting.gpu_line) ||
      !HaveSameJobs(waiting.cpu_line, state.waiting.cpu_line) ||
      waiting.growable != state.waiting.growable) {
    return absl::FailedPreconditionError("the waiting jobs are wrong");
  }
  if (!IsPartitioned(state.waiting.gpu_line) || !IsPartitioned(state.waiting.cpu_line)) {
    return absl::FailedPreconditionError("the groups of the waiting jobs are wrong");
  }
  if (waiting.empty()) return absl::OkStatus();
  coordinator::Ledger ledger;
  ledger.Update(state, now);
  if (ledger == state.ledger) return absl::OkStatus();
  return absl::FailedPreconditionError("the ledger has missed a change of a node");
}

}  // namespace

absl::Status CheckAtRest(const coordinator::ClusterState& state, absl::Time now) {
  const coordinator::Plan plan = PlanEverything(state, now);
  if (!plan.actions.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the planner has missed an action: ", plan.reason));
  }
  if (plan.wake_at < NextLook(state)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the planner would wake ", absl::FormatDuration(NextLook(state) - plan.wake_at), " late"));
  }
  if (NextLook(state) <= now) {
    return absl::FailedPreconditionError("the planner would look again without a reason");
  }
  ACCEL_RETURN_IF_ERROR(CheckWaiting(state, now));
  for (const auto& [id, entry] : state.jobs) {
    if (entry.counts.known() &&
        entry.counts != CountParts(entry, LookAtParts(state, entry, now), now)) {
      return absl::FailedPreconditionError(
          absl::StrCat("the counts of job ", id.value(), " are wrong"));
    }
  }
  for (const auto& [id, node] : state.nodes) {
    for (const auto& [job, machine_rank] : node.jobs) {
      const v1::GenerationRecord* generation =
          coordinator::CurrentGeneration(state.jobs.at(job).job);
      if (machine_rank < generation->placements_size() &&
          generation->placements(machine_rank).node_id() == id.value()) {
        continue;
      }
      return absl::FailedPreconditionError(absl::StrCat(
          "node ", id.value(), " is not machine rank ", machine_rank, " of job ", job.value()));
    }
  }
  return absl::OkStatus();
}

}  // namespace accel::scenarios
