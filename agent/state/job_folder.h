// The folder of a job's output, if the job is another user's than the agent.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/ids.h"
#include "process/account.h"

namespace accel::agent {

// Makes JOBS_DIR/JOB for the user, 0700, who then writes in it. `jobs_dir` must be the agent's own.
// FAILED_PRECONDITION: the job has a folder that is another user's. Other errors are those of the
// file system; the message has the path.
absl::Status MakeJobFolder(const std::string& jobs_dir, const common::JobId& job,
                           const process::Account& user);

// Returns the owner of JOBS_DIR/JOB, with the group of the folder and no other. It is the agent's
// own user if there is no such folder. The job's output is touched with the owner's rights alone.
process::Account OwnerOfJobFolder(const std::string& jobs_dir, const common::JobId& job);

}  // namespace accel::agent
