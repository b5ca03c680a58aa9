#include "coordinator/core/refused_peers.h"

namespace accel::coordinator {

void NoteRefusedPeers(const v1::NodeObserved& report, ClusterState* state, Changes* changes) {
  for (const v1::ObservedGeneration& part : report.generations()) {
    const common::JobId id(part.job_id());
    if (part.refused_peers() <= 0 || !IsLive(*state, id, part.generation())) continue;
    v1::Job& job = FindJob(state, id)->job;
    v1::GenerationRecord& record = *job.mutable_generations()->rbegin();
    if (record.refused_peers() >= part.refused_peers()) continue;
    record.set_refused_peers(part.refused_peers());
    job.set_version(job.version() + 1);
    changes->put[id].generations.insert(part.generation());
  }
}

}  // namespace accel::coordinator
