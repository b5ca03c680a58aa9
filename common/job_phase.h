// What every program must know of a job's phases. The coordinator alone steps between them
// (coordinator/core/job_state.h).
#pragma once

#include "proto/job.pb.h"

namespace accel::common {

// SUCCEEDED, FAILED, CANCELLED: nothing follows.
inline bool IsFinal(v1::JobPhase phase) {
  return phase == v1::SUCCEEDED || phase == v1::FAILED || phase == v1::CANCELLED;
}

}  // namespace accel::common
