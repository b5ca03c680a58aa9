// The user's secret for launches over several machines, in a file that only the user can read.
// Clusters with a coordinator do not use it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace accel::common {

// Returns ~/.config/accel/token in the directory that HomeDir() returns. FAILED_PRECONDITION: the
// user has no home directory.
absl::StatusOr<std::string> DefaultTokenPath();

// Reads the token in `path`. NOT_FOUND: the file does not exist. FAILED_PRECONDITION: other users
// can read or write the file, or it belongs to another user; the message says what to do.
// INVALID_ARGUMENT: the contents are not a token (16 to 4096 printable characters).
absl::StatusOr<std::string> ReadToken(const std::string& path);

// Reads the token in `path`. If the file is missing, first creates it, with its folders and a new
// token of 256 random bits. Processes that call this concurrently get the same token. Other errors
// are those of ReadToken() and of the file system.
absl::StatusOr<std::string> ReadOrMakeToken(const std::string& path);

}  // namespace accel::common
