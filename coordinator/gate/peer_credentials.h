// The user at the other end of a Unix socket, according to the kernel.
#pragma once

#include <sys/types.h>

#include <optional>

namespace accel::coordinator {

// Returns the effective user that called connect(). nullopt if the socket is no Unix socket, or if
// the user has no number in this user namespace.
std::optional<uid_t> PeerUid(int fd);

}  // namespace accel::coordinator
