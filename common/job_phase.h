// Facts about the phases of a job that every program needs. Only the coordinator changes a
// job's phase (coordinator/core/job_state.h).
#pragma once

#include "proto/job.pb.h"

namespace accel::common {

// Returns true for SUCCEEDED, FAILED and CANCELLED, after which the phase never changes.
inline bool IsFinal(v1::JobPhase phase) {
  return phase == v1::SUCCEEDED || phase == v1::FAILED || phase == v1::CANCELLED;
}

}  // namespace accel::common
