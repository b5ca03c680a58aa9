// The number of processes of a generation or a job, over all nodes.
#pragma once

#include "proto/job.pb.h"

namespace accel::common {

inline int WorldSize(const v1::GenerationRecord& generation) {
  int size = 0;
  for (const v1::Placement& placement : generation.placements()) size += placement.processes();
  return size;
}

// Returns true if every generation of the job has one process, wherever it is placed.
inline bool HasOneProcess(const v1::JobSpec& spec) {
  if (spec.nodes() != 1) return false;
  return spec.processes_per_node().empty() ? spec.cpu() : spec.processes_per_node(0) == 1;
}

}  // namespace accel::common
