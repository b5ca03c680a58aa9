// Unix sockets in a folder, for shims and the agents that connect to them.
//
// The path of a Unix socket has at most 107 bytes, but the path of a state directory may be longer.
// The sockets are therefore named by /proc/self/fd/FOLDER/NAME, which is always short.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace accel::shim {

// Returns a socket that listens at `name` in the folder, close-on-exec and non-blocking. A file of
// that name, such as the socket of an earlier process, is removed first.
absl::StatusOr<common::UniqueFd> ListenIn(int folder, const std::string& name);

// Connects to the socket `name` in the folder, without waiting. NOT_FOUND: no process listens.
// PERMISSION_DENIED: the listening process belongs to another user. RESOURCE_EXHAUSTED: no
// descriptor is left. INTERNAL: any other reason, for example a full queue of connections.
absl::StatusOr<common::UniqueFd> ConnectIn(int folder, const std::string& name);

// Returns true if the process at the other end of a Unix socket has this process's effective user.
bool PeerIsThisUser(int socket);

// Returns true if the process at the other end may send commands. It may if it belongs to this
// process's user, or to root, because an agent that is root starts shims as other users.
bool PeerMayCommand(int socket);

}  // namespace accel::shim
