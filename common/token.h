// A secret of the user in a file that only the user can read: the key of launches over several
// machines. No daemon and no call of a cluster uses it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace accel::common {

// Returns HOME/.config/accel/token, with HOME from the environment or else from the user database.
// FAILED_PRECONDITION: the user has no home directory.
absl::StatusOr<std::string> DefaultTokenPath();

// Reads the token in `path`. NOT_FOUND: the file does not exist. FAILED_PRECONDITION: other users
// can read or write the file, or it belongs to another user; the message says what to do.
// INVALID_ARGUMENT: the contents are not a token (16 to 4096 printable characters).
absl::StatusOr<std::string> ReadToken(const std::string& path);

// Reads the token in `path`. If the file is missing, first creates it, with its folders and a new
// token of 256 random bits. All processes that do this concurrently return the same token.
absl::StatusOr<std::string> ReadOrMakeToken(const std::string& path);

}  // namespace accel::common
