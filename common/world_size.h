// How many processes a generation has, over all its nodes.
#pragma once

#include "proto/job.pb.h"

namespace accel {

inline int WorldSize(const v1::GenerationRecord& generation) {
  int size = 0;
  for (const v1::Placement& placement : generation.placements()) size += placement.processes();
  return size;
}

}  // namespace accel
