#include "agent/state/job_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"
#include "logs/log_paths.h"

namespace accel::agent {

absl::Status MakeJobFolder(const std::string& jobs_dir, const common::JobId& job,
                           const process::Account& user) {
  if (job.empty() || job.value()[0] == '.' || job.value().find('/') != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("The id of job ", job.value(), " is no name of a folder."));
  }
  const std::string path = logs::JobLogDir(jobs_dir, job.value());
  const bool is_new = mkdir(path.c_str(), 0700) == 0;
  if (!is_new && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("Cannot make the folder ", path));
  }
  const common::UniqueFd folder(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info = {};
  if (!folder.valid() || fstat(folder.get(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("Cannot open ", path));
  }
  if (!is_new && info.st_uid == user.uid) return absl::OkStatus();
  if (!is_new) {
    return absl::FailedPreconditionError(absl::StrCat("The folder ", path, " belongs to uid ",
                                                      info.st_uid, ", and the job runs as ",
                                                      user.name, "."));
  }
  if (fchown(folder.get(), user.uid, user.gid) == 0) return absl::OkStatus();
  const absl::Status status =
      absl::ErrnoToStatus(errno, absl::StrCat("Cannot give ", path, " to ", user.name));
  rmdir(path.c_str());
  return status;
}

process::Account OwnerOfJobFolder(const std::string& jobs_dir, const common::JobId& job) {
  process::Account owner;
  owner.uid = geteuid();
  owner.gid = getegid();
  struct stat info = {};
  if (lstat(logs::JobLogDir(jobs_dir, job.value()).c_str(), &info) == 0) {
    owner.uid = info.st_uid;
    owner.gid = info.st_gid;
  }
  owner.groups = {owner.gid};
  return owner;
}

}  // namespace accel::agent
