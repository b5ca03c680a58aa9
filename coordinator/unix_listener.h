// The Unix socket on which a coordinator always listens. The kernel names the user of each
// connection to it, so callers need no credential (docs/decisions/0052).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace accel::coordinator {

// A listening socket. The destructor removes its file.
class UnixListener {
 public:
  // Listens at `path`, which is absolute. Makes missing folders with mode 0700. For root the mode
  // is 0755, because all users of the machine may connect. Replaces a socket that a killed
  // coordinator has left. Errors:
  //
  // * FAILED_PRECONDITION: another coordinator listens there, or the folder is
  //   not safe (common/socket_folder.h).
  // * INVALID_ARGUMENT: the path is too long for a socket.
  // * The code of the errno: a folder, the lock or the socket cannot be made.
  static absl::StatusOr<UnixListener> Open(const std::string& path);
  UnixListener(UnixListener&&) = default;
  UnixListener& operator=(UnixListener&&) = delete;
  ~UnixListener();

  const std::string& path() const { return path_; }
  // Returns a duplicate of the listening descriptor, which is non-blocking.
  common::UniqueFd Duplicate() const;

 private:
  UnixListener(std::string path, common::UniqueFd lock, common::UniqueFd fd);

  std::string path_;
  common::UniqueFd lock_;  // Held until the socket is removed.
  common::UniqueFd fd_;
};

}  // namespace accel::coordinator
