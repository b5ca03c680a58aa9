// The folder of the coordinator's Unix socket. Only its owner can make a socket in it, so a client
// that checks the folder first cannot be caught by a socket that another user has made.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace accel::common {

// Returns OK if the folder of the socket at `path` belongs to this user or root, and no other user
// can write to it. NOT_FOUND: there is no such folder. FAILED_PRECONDITION: it is not safe; the
// message says why.
absl::Status CheckSocketFolder(const std::string& path);

}  // namespace accel::common
