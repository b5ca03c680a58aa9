#include "coordinator/unix_listener.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/lock_holders.h"
#include "common/log.h"
#include "common/socket_folder.h"
#include "common/status_macros.h"

namespace accel::coordinator {
namespace {

// The mode lets all users connect, because the gate checks the user of each connection.
constexpr mode_t kSocketMode = 0666;

absl::Status ErrnoStatus(absl::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " ", path));
}

absl::Status MakeFolders(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (mkdir(folder.c_str(), geteuid() == 0 ? 0755 : 0700) != 0 && errno != EEXIST) {
      return ErrnoStatus("create the folder", folder);
    }
  }
  return absl::OkStatus();
}

// Takes the lock of the socket at `path`. A coordinator holds it as long as it listens there.
absl::StatusOr<common::UniqueFd> Lock(const std::string& path) {
  const std::string file = absl::StrCat(path, ".lock");
  common::UniqueFd fd(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return ErrnoStatus("open", file);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
    // If this fails, messages about the lock name no process.
    if (!common::WriteLockHolder(fd.get())) {
      common::LogWarning("cannot write the lock of the socket", {{"file", file}});
    }
    return fd;
  }
  if (errno != EWOULDBLOCK) return ErrnoStatus("lock", file);
  return absl::FailedPreconditionError(
      absl::StrCat("another coordinator (process ", common::DescribeLockHolder(fd.get(), file),
                   ") listens at ", path, "; stop it, or choose another path with --socket"));
}

}  // namespace

UnixListener::UnixListener(std::string path, common::UniqueFd lock, common::UniqueFd fd)
    : path_(std::move(path)), lock_(std::move(lock)), fd_(std::move(fd)) {}

UnixListener::~UnixListener() {
  if (fd_.valid()) unlink(path_.c_str());
}

absl::StatusOr<UnixListener> UnixListener::Open(const std::string& path) {
  ACCEL_RETURN_IF_ERROR(MakeFolders(path));
  ACCEL_RETURN_IF_ERROR(common::CheckSocketFolder(path));
  ACCEL_ASSIGN_OR_RETURN(common::UniqueFd lock, Lock(path));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("the path ", path, " is too long for a socket"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  common::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoStatus("make a socket for", path);
  // This process holds the lock, so no coordinator serves a socket that exists. Any other file
  // remains, and bind() fails.
  struct stat info;
  if (lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) unlink(path.c_str());
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      chmod(path.c_str(), kSocketMode) != 0 || listen(fd.get(), SOMAXCONN) != 0) {
    return ErrnoStatus("listen at", path);
  }
  return UnixListener(path, std::move(lock), std::move(fd));
}

common::UniqueFd UnixListener::Duplicate() const {
  return common::UniqueFd(fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
}

}  // namespace accel::coordinator
