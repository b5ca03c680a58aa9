// The folder of the coordinator's Unix socket. Only the folder's owner and root can make a
// socket in it. A client that checks the folder first therefore never connects to a socket
// of another user.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace accel::common {

// Returns OK if the folder of the socket at `path` belongs to this user or root, and no other user
// can write to it. NOT_FOUND: there is no such folder. FAILED_PRECONDITION: the folder is not safe;
// the message says why.
absl::Status CheckSocketFolder(const std::string& path);

}  // namespace accel::common
