#include "coordinator/core/sort_waiting.h"

#include "coordinator/core/devices.h"
#include "coordinator/core/job_spec.h"

namespace accel::coordinator {
namespace {

// Returns true if the job runs on fewer nodes than it asks for.
bool IsSmall(const v1::Job& job) {
  return job.phase() == v1::RUNNING && IsElastic(job.spec()) &&
         CurrentGeneration(job)->placements_size() < job.spec().nodes();
}

void Sort(const ClusterState& state, const JobEntry& entry, WaitingJobs* waiting) {
  const v1::Job& job = entry.job;
  const common::JobId id(job.job_id());
  const bool queued = job.phase() == v1::PENDING;
  const bool gpu = queued && DevicesOf(job, state) == v1::ON_GPUS;
  if (queued) (gpu ? waiting->gpu_line : waiting->cpu_line).Insert(id, entry.shape, &entry);
  if (!gpu) waiting->gpu_line.Erase(id, entry.shape);
  if (!queued || gpu) waiting->cpu_line.Erase(id, entry.shape);
  if (IsSmall(job)) {
    waiting->growable.emplace(id, &entry);
  } else {
    waiting->growable.erase(id);
  }
}

}  // namespace

void SortWaiting(const JobEntry& entry, ClusterState* state) {
  Sort(*state, entry, &state->waiting);
}

WaitingJobs FindWaiting(const ClusterState& state) {
  WaitingJobs waiting;
  for (const auto& [id, entry] : state.jobs) Sort(state, entry, &waiting);
  return waiting;
}

}  // namespace accel::coordinator
