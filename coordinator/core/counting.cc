#include "coordinator/core/counting.h"

#include <utility>
#include <vector>

#include "coordinator/core/first_failure.h"
#include "coordinator/core/part.h"
#include "coordinator/core/wording.h"

namespace accel::coordinator {
namespace {

bool HasFailed(const JobEntry& job, const Part& part, absl::Time now) {
  if (job.job.phase() != v1::STOPPING) {
    return IsSocketGone(part) || FirstFailure(job, {part}, now).has_value();
  }
  return job.job.has_cause() && EarlierFailure(job, {part}, now).has_value();
}

PartFacts FactsOf(const JobEntry& job, const Part& part, absl::Time now) {
  return {.started = IsStarted(part),
          .ended_well = part.ended_well,
          .has_processes = HasProcesses(part),
          .failed = HasFailed(job, part, now)};
}

// Returns true if NextStep() may return a step now. Steps that only time causes have a wake time.
bool MayStep(const JobEntry& entry) {
  const PartCounts& counts = entry.counts;
  const int waiting = entry.job.phase() == v1::STOPPING ? counts.with_processes()
                                                        : counts.parts() - counts.started();
  // The reason of the job names the nodes that it waits for, if they are few, so
  // the reason changes.
  if (entry.job.phase() != v1::RUNNING && waiting <= kMaxNames) return true;
  if (entry.job.phase() == v1::STOPPING) return counts.failed() > 0;
  return counts.failed() > 0 || counts.ended_well() == counts.parts();
}

}  // namespace

PartCounts CountParts(const ClusterState& state, const JobEntry& job, absl::Time now) {
  std::vector<PartFacts> parts;
  for (const Part& part : LookAtParts(state, job, now)) parts.push_back(FactsOf(job, part, now));
  PartCounts counts;
  counts.SetAll(std::move(parts));
  return counts;
}

void CountReport(const NodeEntry& node, absl::Time now, ClusterState* state) {
  for (const auto& [id, machine_rank] : node.jobs) {
    JobEntry& job = state->jobs.at(id);
    if (!job.counts.known()) {
      state->agenda.Touch(id);
      continue;
    }
    state->agenda.WakeBy(id, SilentFrom(*state, node));
    const bool before = MayStep(job);
    const Part part = LookAtPart(*state, job, machine_rank, now);
    const bool changed = job.counts.Set(machine_rank, FactsOf(job, part, now));
    if (changed && (before || MayStep(job))) state->agenda.Touch(id);
  }
}

}  // namespace accel::coordinator
