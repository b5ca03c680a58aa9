// The number of processes of a generation or a job, over all nodes.
#pragma once

#include "proto/job.pb.h"

namespace accel::common {

inline int WorldSize(const v1::GenerationRecord& generation) {
  if (generation.placements().empty()) return 0;
  // Ranks are dense through the machine ranks (invariant 3).
  const v1::Placement& last = *generation.placements().rbegin();
  return last.first_rank() + last.processes();
}

// Returns true if every generation of the job has exactly one process, whichever node it runs on.
inline bool HasOneProcess(const v1::JobSpec& spec) {
  if (spec.nodes() != 1) return false;
  return spec.processes_per_node().empty() ? spec.cpu() : spec.processes_per_node(0) == 1;
}

}  // namespace accel::common
