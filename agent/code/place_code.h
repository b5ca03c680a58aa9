// Puts the files of an upload into the folder of a job:
//
//   JOBS_DIR/JOB/code/        the workers start here
//   JOBS_DIR/JOB/code.new/    while it is being filled
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/ids.h"
#include "common/unique_fd.h"
#include "process/account.h"
#include "upload/core/tree.h"

namespace accel::agent {

// Returns JOBS_DIR/JOB/code.
std::string CodeFolder(const std::string& jobs_dir, const common::JobId& job);

// Returns true if the job has its folder, which is then as its workers have left it. They may have
// replaced it by a link to another folder.
bool HasCode(const std::string& jobs_dir, const common::JobId& job,
             const std::optional<process::Account>& user);

// Opens the blob with this hash, with the rights of this process.
using OpenBlob = std::function<absl::StatusOr<common::UniqueFd>(const std::string& sha256)>;

// Makes the folder, with copies that belong to the user. It has its name once it is complete, and
// on the disk. After an error nothing of it is left.
// Everything in the job's folder is done with the user's rights, because the user may change it
// meanwhile. `user` is nullopt if the job runs as this process's user. `may_go_on` is asked between
// pieces of the work. CANCELLED: it has returned false. DATA_LOSS: the blob that `damaged` is
// called with does not have its hash. INVALID_ARGUMENT: it is the user's fault, because he has put
// something in the way, or has no quota.
absl::Status PlaceCode(const std::string& jobs_dir, const common::JobId& job,
                       const std::optional<process::Account>& user, const upload::Tree& tree,
                       const OpenBlob& open, const std::function<void(const std::string&)>& damaged,
                       const std::function<bool()>& may_go_on);

}  // namespace accel::agent
