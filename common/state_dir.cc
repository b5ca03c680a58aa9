#include "common/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/lock_holders.h"
#include "common/log.h"
#include "common/status_macros.h"

namespace accel::common {
namespace {

constexpr absl::Duration kLockPause = absl::Milliseconds(20);

absl::Status MakeDir(const std::string& dir) {
  std::error_code error;
  // Only a missing directory is created, so the permissions of an existing one are not changed.
  std::filesystem::path missing(dir);
  if (std::filesystem::is_directory(missing, error)) return absl::OkStatus();
  std::filesystem::create_directories(missing, error);
  if (!error) {
    std::filesystem::permissions(missing, std::filesystem::perms::owner_all, error);
  }
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot create the state directory ", dir, ": ",
                                             error.message(), "; choose another with --state_dir"));
}

std::string ReadDaemon(int fd) {
  char text[32];
  const ssize_t size = pread(fd, text, sizeof text, 0);
  if (size <= 0) return "of unknown id";
  return std::string(
      absl::StripAsciiWhitespace(absl::string_view(text, static_cast<size_t>(size))));
}

// Returns the process to name in messages: the daemon that took the lock if it still holds it, or
// else the processes that inherited it.
std::string Holder(int fd, const std::string& path) {
  const std::string daemon = ReadDaemon(fd);
  std::vector<std::string> holders;
  for (const pid_t pid : LockHolders(path)) holders.push_back(absl::StrCat(pid));
  const bool has_it = std::find(holders.begin(), holders.end(), daemon) != holders.end();
  return holders.empty() || has_it ? daemon : absl::StrJoin(holders, ", ");
}

}  // namespace

absl::StatusOr<UniqueFd> LockStateDir(const std::string& dir, absl::string_view daemon,
                                      absl::Duration timeout) {
  ACCEL_RETURN_IF_ERROR(MakeDir(dir));
  const std::string path = absl::StrCat(dir, "/", daemon, ".lock");
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  bool said = false;
  const absl::Time give_up = SteadyClock()->Now() + timeout;
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return absl::ErrnoToStatus(errno, absl::StrCat("cannot lock ", path));
    if (SteadyClock()->Now() < give_up) {
      if (!std::exchange(said, true)) {
        LogWarning("waiting for another process that holds the state directory",
                   {{"lock", path},
                    {"pid", Holder(fd.get(), path)},
                    {"at_most", absl::FormatDuration(timeout)}});
      }
      absl::SleepFor(kLockPause);
      continue;
    }
    return absl::FailedPreconditionError(
        absl::StrCat("the state directory ", dir, " is in use by process ", Holder(fd.get(), path),
                     "; stop it, or choose another --state_dir"));
  }
  const std::string pid = absl::StrCat(getpid(), "\n");
  if (ftruncate(fd.get(), 0) != 0 ||
      pwrite(fd.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  }
  return fd;
}

}  // namespace accel::common
