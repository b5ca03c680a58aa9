#include "coordinator/core/counting.h"

#include <utility>
#include <vector>

#include "coordinator/core/first_failure.h"
#include "coordinator/core/wording.h"

namespace accel::coordinator {
namespace {

bool HasFailed(const JobEntry& job, const Part& part, absl::Time now) {
  if (job.job.phase() != v1::STOPPING) {
    return IsSocketGone(part) || FirstFailure(job, absl::MakeConstSpan(&part, 1), now).has_value();
  }
  return job.job.has_cause() && EarlierFailure(job, absl::MakeConstSpan(&part, 1), now).has_value();
}

PartFacts FactsOf(const JobEntry& job, const Part& part, absl::Time now) {
  return {.started = IsStarted(part),
          .ended_well = part.ended_well,
          .has_processes = HasProcesses(part),
          .failed = HasFailed(job, part, now),
          .silent = part.silent};
}

// Returns the number of parts that the job waits for. Returns 0 for a RUNNING job.
int Waiting(const JobEntry& entry) {
  if (entry.job.phase() == v1::RUNNING) return 0;
  const PartCounts& counts = entry.counts;
  return entry.job.phase() == v1::STOPPING ? counts.with_processes()
                                           : counts.parts() - counts.started();
}

// Returns true if the job's reason names the nodes that it waits for, because they are few.
bool NamesNodes(const JobEntry& entry) {
  const int waiting = Waiting(entry);
  return waiting > 0 && waiting <= kMaxNames;
}

}  // namespace

PartCounts CountParts(const JobEntry& job, absl::Span<const Part> parts, absl::Time now) {
  std::vector<PartFacts> facts;
  facts.reserve(parts.size());
  for (const Part& part : parts) facts.push_back(FactsOf(job, part, now));
  PartCounts counts;
  counts.SetAll(std::move(facts));
  return counts;
}

bool MayStep(const JobEntry& entry) {
  const PartCounts& counts = entry.counts;
  if (counts.failed() > 0 || counts.silent() > 0) return true;
  if (entry.job.phase() != v1::RUNNING && Waiting(entry) == 0) return true;
  return entry.job.phase() != v1::STOPPING && counts.ended_well() == counts.parts();
}

void CountPlaced(JobEntry* entry) {
  const auto parts = static_cast<size_t>(CurrentGeneration(entry->job)->placements_size());
  entry->counts.SetAll(std::vector<PartFacts>(parts, {.has_processes = true}));
}

void CountReport(const NodeEntry& node, absl::Time now, ClusterState* state) {
  for (const auto& [id, machine_rank] : node.jobs) {
    JobEntry& job = state->jobs.at(id);
    if (!job.counts.known()) {
      state->agenda.Touch(id);
      continue;
    }
    state->agenda.WakeBy(id, SilentFrom(*state, node));
    const bool stepped = MayStep(job);
    const bool named = NamesNodes(job);
    const Part part = LookAtPart(*state, job, machine_rank, &node, now);
    if (!job.counts.Set(machine_rank, FactsOf(job, part, now))) continue;
    if (stepped || MayStep(job)) state->agenda.Touch(id);
    if (!named && !NamesNodes(job)) continue;
    job.explain_at = now + kExplainAfter;
    state->agenda.WakeBy(id, job.explain_at);
  }
}

}  // namespace accel::coordinator
