// Unix sockets in a folder, for shims and the agents that connect to them.
//
// A path of a socket has at most 107 bytes, and a state directory may be deeper than that. The
// sockets are therefore bound and found through /proc/self/fd, relative to an open folder.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace accel::shim {

// Returns a socket that listens at `name` in the folder, close-on-exec and non-blocking. A socket
// that an earlier process has left there is removed first.
absl::StatusOr<common::UniqueFd> ListenIn(int folder, const std::string& name);

// Connects to the socket `name` in the folder, without waiting. NOT_FOUND: no process listens
// there. PERMISSION_DENIED: the listening process belongs to another user. INTERNAL: any other
// reason, for example that too many connections wait there.
absl::StatusOr<common::UniqueFd> ConnectIn(int folder, const std::string& name);

// Returns true if the process at the other end of a Unix socket has this process's effective user.
bool PeerIsThisUser(int socket);

// Returns true if the process at the other end may command this one: it is this user's, or root's,
// because an agent that is root starts shims as other users.
bool PeerMayCommand(int socket);

}  // namespace accel::shim
