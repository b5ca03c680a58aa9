#include "agent/code/place_code.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "agent/code/copy_code.h"
#include "agent/code/place_errors.h"
#include "agent/state/job_folder.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "logs/log_paths.h"
#include "process/remove_below.h"
#include "process/user_rights.h"

namespace accel::agent {
namespace {

constexpr char kName[] = "code";
constexpr char kUnfinished[] = "code.new";
constexpr char kUnsynced[] = "code.unsynced";
constexpr char kNewUnsynced[] = "code.unsynced.new";
constexpr size_t kMaxBootIdBytes = 128;
constexpr size_t kMaxMarkBytes = kMaxBootIdBytes + 1;

process::Account OwnerFor(const std::optional<process::Account>& user) {
  if (user.has_value()) return *user;
  process::Account self;
  self.name = "the agent";
  self.uid = geteuid();
  self.gid = getegid();
  return self;
}

// Returns the text of the mark, or nullopt if there is no mark. A mark that is not a link, or
// cannot be read, has the text "". Must be called with the user's rights.
std::optional<std::string> ReadMark(int job) {
  std::string boot(kMaxMarkBytes, '\0');
  const ssize_t size = readlinkat(job, kUnsynced, boot.data(), boot.size());
  if (size < 0 && errno == ENOENT) return std::nullopt;
  boot.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return boot;
}

// Replaces the mark in one step. Returns false and sets errno if it fails. Must be called with
// the user's rights.
bool SetMark(int job, const std::string& text) {
  unlinkat(job, kNewUnsynced, 0);
  return symlinkat(text.c_str(), job, kNewUnsynced) == 0 &&
         renameat(job, kNewUnsynced, job, kUnsynced) == 0;
}

// Returns the text of the mark after a failed sync. The kernel drops bytes that it could not write,
// so a later sync may succeed without them. No agent of this boot may therefore remove that mark.
std::string FailedMark(const std::string& boot_id) { return boot_id + "!"; }

common::UniqueFd OpenFolder(const CodePlace& place) {
  const std::string path = logs::JobLogDir(place.jobs_dir, place.job.value());
  return common::UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// The state of the job's folder: absent; on the disk; of this boot, perhaps only in memory; or of
// an earlier boot, so perhaps lost.
enum class Code { kNone, kOnDisk, kInMemory, kLost };

// Must be called with the user's rights.
Code Look(int job, const std::string& boot_id) {
  struct stat info = {};
  if (fstatat(job, kName, &info, 0) != 0 || !S_ISDIR(info.st_mode)) return Code::kNone;
  const std::optional<std::string> mark = ReadMark(job);
  if (!mark.has_value()) return Code::kOnDisk;
  return *mark == boot_id || *mark == FailedMark(boot_id) ? Code::kInMemory : Code::kLost;
}

Code Look(const CodePlace& place) {
  const process::Account owner = OwnerFor(place.user);
  const process::UserRights rights(owner);
  const common::UniqueFd job = OpenFolder(place);
  return job.valid() ? Look(job.get(), place.boot_id) : Code::kNone;
}

class Placer {
 public:
  Placer(const process::Account& owner, const std::string& boot_id, BlobCache* cache,
         const std::function<bool()>& may_go_on)
      : owner_(owner), boot_id_(boot_id), cache_(*cache), may_go_on_(may_go_on) {}

  // `job` is the open folder of the job.
  absl::Status Place(int job, const upload::Tree& tree) {
    absl::Status placed = Prepare(job);
    if (placed.ok()) {
      // The mark is written to the disk while the files are copied, because each takes long.
      int error = 0;
      std::thread marking([&] { error = fsync(job) == 0 ? 0 : errno; });
      placed = CopyCode(owner_, root_.get(), tree, &cache_, may_go_on_);
      marking.join();
      errno = error;
      if (placed.ok() && error != 0) placed = PlaceFailed("write to the disk the mark", kUnsynced);
    }
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

  // Removes what an interrupted start has left, sets the mark, and makes the folder.
  absl::Status Prepare(int job) {
    const process::UserRights rights(owner_);
    Remove(job, kUnfinished);
    // The mark of another boot must remain until the folder is gone. Without it, a lost
    // folder would count.
    if (Look(job, boot_id_) == Code::kLost) {
      Remove(job, kName);
      unlinkat(job, kName, 0);  // A worker may have replaced it by a link.
      if (Look(job, boot_id_) == Code::kLost) return UserPlaceFailed("remove the folder", kName);
    }
    if (!SetMark(job, boot_id_)) return UserPlaceFailed("make the link", kUnsynced);
    if (mkdirat(job, kUnfinished, 0755) != 0)
      return UserPlaceFailed("make the folder", kUnfinished);
    root_ =
        common::UniqueFd(openat(job, kUnfinished, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (root_.valid() && fchmod(root_.get(), 0755) == 0) return absl::OkStatus();
    return UserPlaceFailed("open", kUnfinished);
  }

  absl::Status GiveName(int job) {
    const process::UserRights rights(owner_);
    if (renameat(job, kUnfinished, job, kName) == 0) return absl::OkStatus();
    return UserPlaceFailed("name the folder", kName);
  }

  const process::Account& owner_;
  const std::string& boot_id_;
  BlobCache& cache_;
  const std::function<bool()>& may_go_on_;
  common::UniqueFd root_;
};

}  // namespace

std::string CodeFolder(const std::string& jobs_dir, const common::JobId& job) {
  return absl::StrCat(logs::JobLogDir(jobs_dir, job.value()), "/", kName);
}

bool HasCode(const CodePlace& place) {
  const Code code = Look(place);
  return code == Code::kOnDisk || code == Code::kInMemory;
}

absl::Status PlaceCode(const CodePlace& place, const upload::Tree& tree, BlobCache* cache,
                       const std::function<bool()>& may_go_on) {
  if (place.boot_id.empty() || place.boot_id.size() > kMaxBootIdBytes) {
    return absl::UnavailableError("the kernel does not say which boot this is");
  }
  const process::Account owner = OwnerFor(place.user);
  ACCEL_RETURN_IF_ERROR(MakeJobFolder(place.jobs_dir, place.job, owner));
  const common::UniqueFd folder = OpenFolder(place);
  if (!folder.valid())
    return PlaceFailed("open", logs::JobLogDir(place.jobs_dir, place.job.value()));
  return Placer(owner, place.boot_id, cache, may_go_on).Place(folder.get(), tree);
}

// Does not follow links. A worker may have made one that leads into a file system that hangs.
std::optional<CodeMark> FindUnsyncedCode(const CodePlace& place) {
  const process::Account owner = OwnerFor(place.user);
  const process::UserRights rights(owner);
  const common::UniqueFd job = OpenFolder(place);
  struct stat code = {};
  struct stat mark = {};
  const bool is_unsynced = job.valid() && ReadMark(job.get()) == place.boot_id &&
                           fstatat(job.get(), kName, &code, AT_SYMLINK_NOFOLLOW) == 0 &&
                           fstatat(job.get(), kUnsynced, &mark, AT_SYMLINK_NOFOLLOW) == 0;
  if (!is_unsynced) return std::nullopt;
  return mark.st_ino;
}

void MarkCodeSynced(const CodePlace& place, CodeMark mark) {
  const process::Account owner = OwnerFor(place.user);
  const process::UserRights rights(owner);
  const common::UniqueFd job = OpenFolder(place);
  struct stat present = {};
  const bool is_it = job.valid() &&
                     fstatat(job.get(), kUnsynced, &present, AT_SYMLINK_NOFOLLOW) == 0 &&
                     present.st_ino == mark;
  if (is_it && unlinkat(job.get(), kUnsynced, 0) == 0) fsync(job.get());
}

void MarkCodeFailed(const CodePlace& place) {
  const process::Account owner = OwnerFor(place.user);
  const process::UserRights rights(owner);
  const common::UniqueFd job = OpenFolder(place);
  if (job.valid()) SetMark(job.get(), FailedMark(place.boot_id));
}

}  // namespace accel::agent
