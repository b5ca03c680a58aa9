#include "agent/state/job_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"
#include "logs/log_paths.h"

namespace accel::agent {
namespace {

// Returns true for a folder that MakeJobFolder() has made but not given to its user. If the agent
// is killed between these two steps, the folder remains in this state.
bool IsUnfinished(const struct stat& info) {
  return info.st_uid == geteuid() && (info.st_mode & 07777) == 0;
}

}  // namespace

absl::Status MakeJobFolder(const std::string& jobs_dir, const common::JobId& job,
                           const process::Account& user) {
  if (job.empty() || job.value()[0] == '.' || job.value().find('/') != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("The id of job ", job.value(), " is no name of a folder."));
  }
  const std::string path = logs::JobLogDir(jobs_dir, job.value());
  // A folder for another user belongs to root until fchown() below. Until then it has mode 0, which
  // marks it as unfinished (IsUnfinished()). A folder for the agent's own user has mode 0700 from
  // the start. An agent that is not root could not open a folder of mode 0.
  const mode_t mode = user.uid == geteuid() ? 0700 : 0;
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("Cannot make the folder ", path));
  }
  const common::UniqueFd folder(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info = {};
  if (!folder.valid() || fstat(folder.get(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("Cannot open ", path));
  }
  if (info.st_uid != user.uid && !IsUnfinished(info)) {
    return absl::FailedPreconditionError(absl::StrCat("The folder ", path, " belongs to uid ",
                                                      info.st_uid, ", and the job runs as ",
                                                      user.name, "."));
  }
  const bool is_given = info.st_uid == user.uid || fchown(folder.get(), user.uid, user.gid) == 0;
  if (is_given && fchmod(folder.get(), 0700) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("Cannot give ", path, " to ", user.name));
}

std::optional<process::Account> OwnerOfJobFolder(const std::string& jobs_dir,
                                                 const common::JobId& job) {
  struct stat info = {};
  if (lstat(logs::JobLogDir(jobs_dir, job.value()).c_str(), &info) != 0) return std::nullopt;
  if (IsUnfinished(info)) return std::nullopt;
  process::Account owner;
  owner.uid = info.st_uid;
  owner.gid = info.st_gid;
  owner.groups = {owner.gid};
  return owner;
}

void OpenToOwner(const std::string& folder) { chmod(folder.c_str(), 0700); }

}  // namespace accel::agent
