// Decides who may read the upload of a job. Pure.
#pragma once

#include "coordinator/access/caller.h"
#include "proto/job.pb.h"

namespace accel::coordinator {

// Returns true if the caller owns the job or is an administrator. Also returns true for a node with
// a part of the current generation, if the job has not ended.
bool MayReadUpload(const Caller& caller, const v1::Job& job);

}  // namespace accel::coordinator
