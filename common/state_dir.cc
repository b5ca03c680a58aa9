#include "common/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/lock_holders.h"
#include "common/log.h"
#include "common/status_macros.h"

namespace accel::common {
namespace {

constexpr int kLockPauseMillis = 20;

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

}  // namespace

absl::StatusOr<UniqueFd> LockStateDir(const std::string& dir, absl::string_view daemon,
                                      absl::Duration timeout, int stop_fd) {
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
                    {"pid", DescribeLockHolder(fd.get(), path)},
                    {"at_most", absl::FormatDuration(timeout)}});
      }
      pollfd stop = {.fd = stop_fd, .events = POLLIN, .revents = 0};
      if (poll(&stop, 1, kLockPauseMillis) > 0) return absl::CancelledError("asked to stop");
      continue;
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "the state directory ", dir, " is in use by process ", DescribeLockHolder(fd.get(), path),
        "; stop it, or choose another --state_dir"));
  }
  if (!WriteLockHolder(fd.get())) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  }
  return fd;
}

}  // namespace accel::common
