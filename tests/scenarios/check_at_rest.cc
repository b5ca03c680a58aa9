#include "tests/scenarios/check_at_rest.h"

#include "absl/strings/str_cat.h"
#include "coordinator/core/counting.h"
#include "coordinator/core/planner.h"

namespace accel::scenarios {

absl::Status CheckAtRest(const coordinator::ClusterState& state, absl::Time now) {
  const coordinator::Plan plan = MakePlan(state, Everything(state), now);
  if (!plan.actions.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the planner has missed an action: ", plan.reason));
  }
  if (plan.wake_at < state.agenda.next()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the planner would wake ",
                     absl::FormatDuration(state.agenda.next() - plan.wake_at), " late"));
  }
  for (const auto& [id, entry] : state.jobs) {
    if (entry.counts.known() && entry.counts != CountParts(state, entry, now)) {
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
