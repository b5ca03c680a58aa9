#include "agent/state/state_dir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/log.h"
#include "common/random_hex.h"
#include "common/state_dir.h"
#include "common/status_macros.h"

namespace accel::agent {
namespace {

constexpr char kDaemon[] = "agent";
absl::Status Failed(absl::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " ", path));
}

// Returns the text of a file of at most 256 bytes, without white space around it. "" if the file
// does not exist.
absl::StatusOr<std::string> ReadSmall(const std::string& path) {
  const common::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    if (errno == ENOENT) return std::string();
    return Failed("open", path);
  }
  char buffer[256];
  const ssize_t got = read(fd.get(), buffer, sizeof(buffer));
  if (got < 0) return Failed("read", path);
  return std::string(absl::StripAsciiWhitespace(absl::string_view(buffer, got)));
}

// Replaces a file. Writes a new file and renames it, so that after a crash the file has either the
// old content or the new.
absl::Status WriteSmall(const std::string& path, const std::string& content) {
  const std::string aside = path + ".new";
  const common::UniqueFd fd(open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd.valid()) return Failed("create", aside);
  if (write(fd.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()) ||
      fsync(fd.get()) != 0) {
    return Failed("write", aside);
  }
  if (rename(aside.c_str(), path.c_str()) != 0) return Failed("rename to", path);
  // The new name is on disk only once the folder has been synced.
  const std::string folder = std::filesystem::path(path).parent_path();
  const common::UniqueFd names(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!names.valid() || fsync(names.get()) != 0) return Failed("write", folder);
  return absl::OkStatus();
}

// Removes the rights of group and others from the folders in `parent`. Only the agent can change
// entries of `parent`, so no user can replace a folder by a link between lstat() and chmod().
absl::Status CloseFolders(const std::string& parent) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path().string();
    struct stat info = {};
    if (lstat(path.c_str(), &info) != 0) return Failed("look at", path);
    // A folder without such rights is skipped. It may be one of mode 0, whose mode must
    // not change (job_folder.cc).
    if (!S_ISDIR(info.st_mode) || (info.st_mode & 077) == 0) continue;
    if (chmod(path.c_str(), 0700) != 0) return Failed("close", path);
  }
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot list ", parent));
}

}  // namespace

// The file contains the id, and the inode number of the directory for which the id was drawn. A
// copy of the directory has another inode number, and must not keep the id (docs/decisions/0026).
absl::StatusOr<common::NodeId> StateDir::ReadOrMakeNodeId(const std::string& dir) {
  const std::string path = dir + "/node_id";
  struct stat info;
  if (stat(dir.c_str(), &info) != 0) return Failed("look at", dir);
  const std::string inode = absl::StrCat(info.st_ino);
  ACCEL_ASSIGN_OR_RETURN(const std::string text, ReadSmall(path));
  auto [id, of_inode] =
      std::pair<std::string, std::string>(absl::StrSplit(text, absl::MaxSplits(' ', 1)));
  if (!id.empty() && of_inode == inode) return common::NodeId(id);
  if (!id.empty() && !of_inode.empty()) {
    common::LogWarning("the state directory is a copy, so this node gets a new id",
                       {{"directory", dir}, {"id_of_the_original", id}});
    id.clear();
    // The records are of the original node's shims, which this agent must not touch.
    std::error_code error;
    std::filesystem::remove_all(dir + kShims, error);
    if (error) {
      return absl::InternalError(
          absl::StrCat("cannot remove ", dir, kShims, ": ", error.message()));
    }
  }
  if (id.empty()) {
    ACCEL_ASSIGN_OR_RETURN(id, common::RandomHex());
  }
  ACCEL_RETURN_IF_ERROR(WriteSmall(path, absl::StrCat(id, " ", inode, "\n")));
  return common::NodeId(id);
}

absl::StatusOr<StateDir> StateDir::Open(const std::string& path, absl::Duration timeout,
                                        int stop_fd) {
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(path, error).string();
  ACCEL_ASSIGN_OR_RETURN(common::UniqueFd lock,
                         common::LockStateDir(absolute, kDaemon, timeout, stop_fd));
  if (mkdir((absolute + "/jobs").c_str(), 0700) != 0 && errno != EEXIST) {
    return Failed("create", absolute + "/jobs");
  }
  ACCEL_ASSIGN_OR_RETURN(common::NodeId node_id, ReadOrMakeNodeId(absolute));
  ACCEL_ASSIGN_OR_RETURN(std::string cluster_id, ReadSmall(absolute + kClusterId));
  return StateDir(absolute, std::move(lock), std::move(node_id), std::move(cluster_id));
}

absl::Status StateDir::LetUsersPass() const {
  ACCEL_RETURN_IF_ERROR(CloseFolders(jobs_dir()));
  for (const std::string& dir : {path_, jobs_dir()}) {
    if (chmod(dir.c_str(), 0711) != 0) return Failed("open to users", dir);
  }
  return absl::OkStatus();
}

absl::Status StateDir::RememberCluster(const std::string& cluster) const {
  return WriteSmall(path_ + kClusterId, cluster + "\n");
}

absl::Status StateDir::ForgetCluster() const {
  const std::string path = path_ + kClusterId;
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return Failed("remove", path);
  return absl::OkStatus();
}

}  // namespace accel::agent
