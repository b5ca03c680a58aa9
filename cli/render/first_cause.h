// Finds what a job that failed again and again failed of at first. Pure.
#pragma once

#include "proto/job.pb.h"

namespace accel::cli {

// Returns the cause of the first generation that failed by itself, if the job ended by another kind
// of failure. What failed later may only follow from the first failure, which is then the one to
// look into. Returns null if all is one kind, or if the job has no cause. A lost or preempted node
// is no failure of the job. Points into `job`.
const v1::FailureCause* FirstOtherCause(const v1::Job& job);

}  // namespace accel::cli
