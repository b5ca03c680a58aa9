// The folder of a job's output, if the job is another user's than the agent.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/ids.h"
#include "process/account.h"

namespace accel::agent {

// Makes JOBS_DIR/JOB for the user, 0700, who then writes in it. The user may be the agent's own.
// `jobs_dir` must be the agent's.
// FAILED_PRECONDITION: the job has a folder that is another user's. Other errors are those of the
// file system; the message has the path.
absl::Status MakeJobFolder(const std::string& jobs_dir, const common::JobId& job,
                           const process::Account& user);

// Returns the owner of JOBS_DIR/JOB, with the group of the folder and no other. The job's output is
// touched with the owner's rights alone. nullopt if there is no such folder, or it has not been
// given to its user yet: nothing below it may be touched then, because it may be any user's a
// moment later.
std::optional<process::Account> OwnerOfJobFolder(const std::string& jobs_dir,
                                                 const common::JobId& job);

// Lets the owner of a folder read and change it again. Such a user may have closed the own folder,
// and UserRights have no more rights than the user. Must be called with these rights. Does nothing
// if it cannot be done.
void OpenToOwner(const std::string& folder);

}  // namespace accel::agent
