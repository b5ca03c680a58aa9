// The folder of a job's output, which belongs to the job's user.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/ids.h"
#include "process/account.h"

namespace accel::agent {

// Makes JOBS_DIR/JOB, which then belongs to `user` and has mode 0700. `user` may be the agent's own
// user. `jobs_dir` must belong to the agent's user.
// INVALID_ARGUMENT: the job's id cannot name a folder. FAILED_PRECONDITION: the folder exists and
// belongs to another user. Other errors are those of the file system; the message has the path.
absl::Status MakeJobFolder(const std::string& jobs_dir, const common::JobId& job,
                           const process::Account& user);

// Returns the owner of JOBS_DIR/JOB, with only the group of the folder. The agent accesses a job's
// output only with this owner's rights. Returns nullopt if there is no such folder, or if
// MakeJobFolder() has not given it to its user yet. The agent must then access nothing in it,
// because its owner is about to change.
std::optional<process::Account> OwnerOfJobFolder(const std::string& jobs_dir,
                                                 const common::JobId& job);

// Sets the mode of a folder to 0700, because its owner may have removed the rights to it. Must be
// called with the owner's UserRights, which do not override the mode of a folder as root's rights
// would. Failures are ignored.
void OpenToOwner(const std::string& folder);

}  // namespace accel::agent
