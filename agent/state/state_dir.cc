#include "agent/state/state_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/status_macros.h"

namespace accel {
namespace {

absl::Status Failed(absl::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " ", path));
}

// A few bytes from the start of the file; empty where there is none.
absl::StatusOr<std::string> ReadSmall(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    if (errno == ENOENT) return std::string();
    return Failed("open", path);
  }
  char buffer[256];
  const ssize_t got = read(fd.get(), buffer, sizeof(buffer));
  if (got < 0) return Failed("read", path);
  return std::string(absl::StripAsciiWhitespace(absl::string_view(buffer, got)));
}

// Written to the side and renamed: a crash leaves the old content or the new, never half.
absl::Status WriteSmall(const std::string& path, const std::string& content) {
  const std::string aside = path + ".new";
  const UniqueFd fd(open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd.valid()) return Failed("create", aside);
  if (write(fd.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()) ||
      fsync(fd.get()) != 0) {
    return Failed("write", aside);
  }
  if (rename(aside.c_str(), path.c_str()) != 0) return Failed("rename to", path);
  return absl::OkStatus();
}

absl::StatusOr<NodeId> ReadOrMakeNodeId(const std::string& path) {
  ACCEL_ASSIGN_OR_RETURN(std::string id, ReadSmall(path));
  if (!id.empty()) return NodeId(id);
  char bytes[8];
  if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
    return Failed("draw random bytes for", path);
  id = absl::BytesToHexString(absl::string_view(bytes, sizeof(bytes)));
  ACCEL_RETURN_IF_ERROR(WriteSmall(path, id + "\n"));
  return NodeId(id);
}

absl::StatusOr<UniqueFd> TakeLock(const std::string& path, absl::Duration patience) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return Failed("open", path);
  const absl::Time give_up = SteadyClock()->Now() + patience;
  bool said = false;
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Failed("lock", path);
    ACCEL_ASSIGN_OR_RETURN(const std::string pid, ReadSmall(path));
    if (!std::exchange(said, true)) {
      LogWarning("waits for another agent, or for what is left of its jobs",
                 {{"lock", path}, {"pid", pid}, {"at_most", absl::FormatDuration(patience)}});
    }
    if (SteadyClock()->Now() >= give_up) {
      return absl::FailedPreconditionError(absl::StrCat(
          path, " is held by another agent, or by what is left of its jobs (agent's pid ", pid,
          "): stop that one, or use another --state_dir"));
    }
    absl::SleepFor(absl::Milliseconds(20));
  }
  const std::string pid = absl::StrCat(getpid(), "\n");
  if (ftruncate(fd.get(), 0) != 0 || pwrite(fd.get(), pid.data(), pid.size(), 0) < 0) {
    return Failed("write", path);
  }
  return fd;
}

}  // namespace

absl::StatusOr<StateDir> StateDir::Open(const std::string& path, absl::Duration patience) {
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(path, error).string();
  std::filesystem::create_directories(std::filesystem::path(absolute).parent_path(), error);
  if (mkdir(absolute.c_str(), 0700) != 0 && errno != EEXIST) return Failed("create", absolute);
  if (mkdir((absolute + "/jobs").c_str(), 0700) != 0 && errno != EEXIST) {
    return Failed("create", absolute + "/jobs");
  }
  ACCEL_ASSIGN_OR_RETURN(UniqueFd lock, TakeLock(absolute + "/lock", patience));
  ACCEL_ASSIGN_OR_RETURN(NodeId node_id, ReadOrMakeNodeId(absolute + "/node_id"));
  return StateDir(absolute, std::move(lock), std::move(node_id));
}

void StateDir::PruneJobs(const std::vector<JobId>& live, size_t most) const {
  std::set<std::string> keep;
  for (const JobId& job : live) keep.insert(job.value());
  std::error_code error;
  std::vector<std::string> finished;
  for (const auto& entry : std::filesystem::directory_iterator(jobs_dir(), error)) {
    const std::string name = entry.path().filename().string();
    if (!keep.contains(name)) finished.push_back(name);
  }
  const size_t room = most > keep.size() ? most - keep.size() : 0;
  if (finished.size() <= room) return;
  // Job ids sort by the time of their submit.
  std::sort(finished.begin(), finished.end());
  finished.resize(finished.size() - room);
  for (const std::string& name : finished) {
    std::filesystem::remove_all(std::filesystem::path(jobs_dir()) / name, error);
  }
}

}  // namespace accel
