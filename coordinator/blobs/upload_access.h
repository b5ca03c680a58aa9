// Who may read the upload of a job. Pure.
#pragma once

#include "coordinator/access/caller.h"
#include "proto/job.pb.h"

namespace accel::coordinator {

// Returns true for the job's owner, an administrator, and a node on which the job's present
// generation is placed.
bool MayReadUpload(const Caller& caller, const v1::Job& job);

}  // namespace accel::coordinator
