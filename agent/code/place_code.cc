#include "agent/code/place_code.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/state/job_folder.h"
#include "common/status_macros.h"
#include "logs/log_paths.h"
#include "process/remove_below.h"
#include "process/user_rights.h"
#include "security/sha256.h"
#include "upload/blob_folder.h"

namespace accel::agent {
namespace {

constexpr char kName[] = "code";
constexpr char kUnfinished[] = "code.new";

process::Account OwnerFor(const std::optional<process::Account>& user) {
  if (user.has_value()) return *user;
  process::Account self;
  self.name = "the agent";
  self.uid = geteuid();
  self.gid = getegid();
  return self;
}

absl::Status Failed(absl::string_view what, absl::string_view path) {
  return absl::UnavailableError(
      absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " ", path)).message());
}

// For what is done with the user's rights. INVALID_ARGUMENT: the user has put something in the way,
// or may not write more, and no other node or attempt would change that.
absl::Status UserFailed(absl::string_view what, absl::string_view path) {
  switch (const int error = errno) {
    case EACCES:
    case EDQUOT:
    case EEXIST:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENOENT:
    case ENOTDIR:
    case ENOTEMPTY:
    case EPERM:
      return absl::InvalidArgumentError(
          absl::ErrnoToStatus(error,
                              absl::StrCat("cannot ", what, " ", path, " for the job's user"))
              .message());
    default:
      return Failed(what, path);
  }
}

class Placer {
 public:
  Placer(const process::Account& owner, const OpenBlob& open,
         const std::function<void(const std::string&)>& damaged,
         const std::function<bool()>& may_go_on)
      : owner_(owner), open_(open), damaged_(damaged), may_go_on_(may_go_on) {}

  // `job` is the open folder of the job.
  absl::Status Place(int job, const upload::Tree& tree) {
    absl::Status placed = Fill(job, tree);
    if (placed.ok()) placed = GiveName(job);
    if (!placed.ok()) {
      const process::UserRights rights(owner_);
      Remove(job, kUnfinished);
    }
    return placed;
  }

 private:
  static void Remove(int job, const char* name) {
    const common::UniqueFd left(openat(job, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (left.valid()) process::RemoveBelow(left.get());
    unlinkat(job, name, AT_REMOVEDIR);
  }

  absl::Status Fill(int job, const upload::Tree& tree) {
    {
      const process::UserRights rights(owner_);
      Remove(job, kUnfinished);
      if (mkdirat(job, kUnfinished, 0755) != 0) return UserFailed("make the folder", kUnfinished);
      root_ = common::UniqueFd(
          openat(job, kUnfinished, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!root_.valid() || fchmod(root_.get(), 0755) != 0) return UserFailed("open", kUnfinished);
    }
    for (const upload::TreeEntry& entry : tree) {
      if (!may_go_on_()) return absl::CancelledError("the job no longer needs it");
      ACCEL_RETURN_IF_ERROR(entry.is_link() ? PlaceLink(entry) : PlaceFile(entry));
    }
    return absl::OkStatus();
  }

  absl::Status GiveName(int job) {
    // The name says that the folder is complete, so after a loss of power it must not lead to files
    // that are empty because their bytes were never written to the disk.
    if (syncfs(root_.get()) != 0) return Failed("write to the disk what is in", kUnfinished);
    const process::UserRights rights(owner_);
    if (renameat(job, kUnfinished, job, kName) == 0) return absl::OkStatus();
    return UserFailed("name the folder", kName);
  }

  absl::Status MakeFoldersFor(const std::string& path) {
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    if (folder == last_folder_) return absl::OkStatus();
    for (size_t end = folder.find('/'); end != folder.npos; end = folder.find('/', end + 1)) {
      const std::string part = folder.substr(0, end);
      if (mkdirat(root_.get(), part.c_str(), 0755) != 0 && errno != EEXIST) {
        return UserFailed("make the folder", part);
      }
    }
    last_folder_ = folder;
    return absl::OkStatus();
  }

  absl::Status PlaceLink(const upload::TreeEntry& entry) {
    const process::UserRights rights(owner_);
    ACCEL_RETURN_IF_ERROR(MakeFoldersFor(entry.path));
    if (symlinkat(entry.link.c_str(), root_.get(), entry.path.c_str()) == 0) {
      return absl::OkStatus();
    }
    return UserFailed("make the link", entry.path);
  }

  absl::Status PlaceFile(const upload::TreeEntry& entry) {
    ACCEL_ASSIGN_OR_RETURN(const common::UniqueFd blob, open_(entry.sha256));
    const absl::Status placed = PlaceCopy(blob.get(), entry);
    // Without the user's rights, which do not reach the cache.
    if (absl::IsDataLoss(placed)) damaged_(entry.sha256);
    return placed;
  }

  absl::Status PlaceCopy(int blob, const upload::TreeEntry& entry) {
    const process::UserRights rights(owner_);
    ACCEL_RETURN_IF_ERROR(MakeFoldersFor(entry.path));
    const common::UniqueFd file(openat(root_.get(), entry.path.c_str(),
                                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.valid()) return UserFailed("make", entry.path);
    ACCEL_RETURN_IF_ERROR(Copy(blob, file.get(), entry));
    if (fchmod(file.get(), entry.executable ? 0755 : 0644) == 0) return absl::OkStatus();
    return UserFailed("set the mode of", entry.path);
  }

  // Shares the blocks where the file system can, and copies otherwise. A hard link would let the
  // user change what is in the cache. The bytes are read in both cases, for their hash. DATA_LOSS:
  // it is another one.
  absl::Status Copy(int from, int to, const upload::TreeEntry& entry) {
    const bool shared = ioctl(to, FICLONE, from) == 0;
    security::Sha256Stream hash;
    while (true) {
      if (!may_go_on_()) return absl::CancelledError("the job no longer needs it");
      const ssize_t got = read(from, buffer_.get(), upload::kMaxChunkBytes);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Failed("read the copy of", entry.path);
      if (got == 0) break;
      absl::string_view bytes(buffer_.get(), static_cast<size_t>(got));
      hash.Add(bytes);
      while (!shared && !bytes.empty()) {
        const ssize_t put = write(to, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return UserFailed("write", entry.path);
        bytes.remove_prefix(static_cast<size_t>(put));
      }
    }
    if (hash.HexDigest() == entry.sha256) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("this node's copy of ", entry.path, " was damaged; it is fetched again"));
  }

  const process::Account& owner_;
  const OpenBlob& open_;
  const std::function<void(const std::string&)>& damaged_;
  const std::function<bool()>& may_go_on_;
  common::UniqueFd root_;
  std::string last_folder_;
  const std::unique_ptr<char[]> buffer_ =
      std::make_unique_for_overwrite<char[]>(upload::kMaxChunkBytes);
};

}  // namespace

std::string CodeFolder(const std::string& jobs_dir, const common::JobId& job) {
  return absl::StrCat(logs::JobLogDir(jobs_dir, job.value()), "/", kName);
}

bool HasCode(const std::string& jobs_dir, const common::JobId& job,
             const std::optional<process::Account>& user) {
  const process::Account owner = OwnerFor(user);
  const process::UserRights rights(owner);
  struct stat info = {};
  return stat(CodeFolder(jobs_dir, job).c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

absl::Status PlaceCode(const std::string& jobs_dir, const common::JobId& job,
                       const std::optional<process::Account>& user, const upload::Tree& tree,
                       const OpenBlob& open, const std::function<void(const std::string&)>& damaged,
                       const std::function<bool()>& may_go_on) {
  const process::Account owner = OwnerFor(user);
  ACCEL_RETURN_IF_ERROR(MakeJobFolder(jobs_dir, job, owner));
  const std::string path = logs::JobLogDir(jobs_dir, job.value());
  const common::UniqueFd folder(
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.valid()) return Failed("open", path);
  return Placer(owner, open, damaged, may_go_on).Place(folder.get(), tree);
}

}  // namespace accel::agent
