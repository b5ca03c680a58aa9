// Decides what a caller may do to a job, and which fields of it are shown to the caller. Pure.
#pragma once

#include <string>

#include "coordinator/access/caller.h"
#include "proto/job.pb.h"

namespace accel::coordinator {

// Returns true if the job belongs to the caller, or the caller may do everything to every job.
// `owner` is JobSpec.owner. It is empty for a job of an earlier version, which
// only administrators own.
bool Owns(const Caller& caller, const std::string& owner);

// Returns the job as callers see it who do not own it. It lacks fields that may contain secrets:
// the command, the required paths, the upload, the environment, the submit id, and the last
// lines of output.
v1::Job ForOthers(const v1::Job& job);

}  // namespace accel::coordinator
