#include "cli/launch_dir.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/clock.h"
#include "logs/log_paths.h"
#include "process/marked_sweep.h"

namespace accel::cli {
namespace {

constexpr char kPrefix[] = "accel-launch-";
constexpr char kRecord[] = "launch";
// The first bytes of every record, written once its folder is locked. An empty record belongs to a
// launch that has not locked it yet.
constexpr char kLocked[] = "accel launch 1";
constexpr size_t kMaxRecordBytes = 64 << 10;
// Maximum time to wait until killed processes are gone.
constexpr absl::Duration kTimeout = absl::Seconds(2);
constexpr absl::Duration kPause = absl::Milliseconds(2);

// The record that Note() wrote. Its fields are joined by NULs, which no path contains.
struct Record {
  std::string mark;
  process::CgroupSupport cgroups;
};

std::string ToText(const Record& record) {
  return absl::StrJoin(
      {std::string(kLocked), record.mark, record.cgroups.base, record.cgroups.memory_base,
       record.cgroups.instance, record.cgroups.pids_base},
      absl::string_view("\0", 1));
}

// Parses a record. Returns an empty one if Note() was not called, because then the launch had
// not started anything.
Record FromText(absl::string_view text) {
  const std::vector<std::string> fields = absl::StrSplit(text, '\0');
  Record record;
  if (fields.size() < 5) return record;
  if (absl::StartsWith(fields[1], absl::StrCat(logs::kErrorFileVariable, "=/")))
    record.mark = fields[1];
  if (absl::StartsWith(fields[2], "/sys/fs/cgroup/")) record.cgroups.base = fields[2];
  if (absl::StartsWith(fields[3], "/sys/fs/cgroup/")) record.cgroups.memory_base = fields[3];
  record.cgroups.instance = fields[4];
  // Appended later.
  const std::string pids = fields.size() > 5 ? fields[5] : "";
  if (absl::StartsWith(pids, "/sys/fs/cgroup/")) record.cgroups.pids_base = pids;
  if (fields[4].empty()) record.cgroups = {};
  return record;
}

bool IsOwn(int fd, mode_t type) {
  struct stat info;
  return fstat(fd, &info) == 0 && (info.st_mode & S_IFMT) == type && info.st_uid == geteuid();
}

// Locks the record of a dead launch and returns its descriptor and contents. Returns nullopt if the
// launch is alive, or if `folder` was not made by a launch of this user.
std::optional<std::pair<common::UniqueFd, Record>> LockDeadLaunch(const std::string& folder) {
  const common::UniqueFd dir(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!dir.valid() || !IsOwn(dir.get(), S_IFDIR)) return std::nullopt;
  common::UniqueFd file(openat(dir.get(), kRecord, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid() || !IsOwn(file.get(), S_IFREG)) return std::nullopt;
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  std::string text(kMaxRecordBytes, '\0');
  const ssize_t size = pread(file.get(), text.data(), text.size(), 0);
  text.resize(size < 0 ? 0 : static_cast<size_t>(size));
  if (!absl::StartsWith(text, kLocked)) return std::nullopt;
  return std::make_pair(std::move(file), FromText(text));
}

int End(const Record& record) {
  int processes = 0;
  if (!record.mark.empty()) {
    const absl::Time give_up = common::SteadyClock()->Now() + kTimeout;
    while (const int killed = process::KillMarked(record.mark)) {
      processes = std::max(processes, killed);
      if (common::SteadyClock()->Now() > give_up) break;
      absl::SleepFor(kPause);
    }
  }
  process::EndEarlierGenerations(record.cgroups);
  return processes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LaunchDir>> LaunchDir::Make(const std::string& tmp) {
  std::string path = absl::StrCat(tmp, "/", kPrefix, "XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make a folder for output at ", path));
  }
  const std::string name = absl::StrCat(path, "/", kRecord);
  common::UniqueFd record(open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const ssize_t size = sizeof(kLocked) - 1;
  if (!record.valid() || flock(record.get(), LOCK_EX) != 0 ||
      pwrite(record.get(), kLocked, size, 0) != size) {
    const absl::Status error = absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", name));
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
    return error;
  }
  return std::unique_ptr<LaunchDir>(new LaunchDir(std::move(path), std::move(record)));
}

LaunchDir::LaunchDir(std::string path, common::UniqueFd record)
    : path_(std::move(path)), record_(std::move(record)) {}

LaunchDir::~LaunchDir() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

absl::Status LaunchDir::Note(const std::string& mark, const process::CgroupSupport& cgroups) {
  const std::string text = ToText({mark, cgroups});
  if (pwrite(record_.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size())) {
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path_, "/", kRecord));
}

std::vector<DeadLaunch> SweepDeadLaunches(const std::string& tmp) {
  std::vector<DeadLaunch> ended;
  std::error_code error;
  std::filesystem::directory_iterator entry(tmp, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string path = entry->path().string();
    if (!absl::StartsWith(entry->path().filename().string(), kPrefix)) continue;
    const auto dead = LockDeadLaunch(path);
    if (!dead.has_value()) continue;
    ended.push_back({path, End(dead->second)});
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  return ended;
}

}  // namespace accel::cli
