// What a caller may do to a job, and what he sees of it. Pure.
#pragma once

#include <string>

#include "coordinator/access/caller.h"
#include "proto/job.pb.h"

namespace accel::coordinator {

// Returns true if the job is the caller's, or the caller may do everything to every job. `owner` is
// JobSpec.owner. A job without an owner, of an earlier version, belongs to administrators.
bool Owns(const Caller& caller, const std::string& owner);

// Returns what a caller sees of a job that is not his: it lacks the command, the environment and
// the output, which may contain secrets.
v1::Job ForOthers(const v1::Job& job);

}  // namespace accel::coordinator
