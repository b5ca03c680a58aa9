// The credential of every TCP call to a daemon: one secret of the user, in a file that only the
// user can read.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

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

// Returns the token to use: from the file that `flag` names, else the value of ACCEL_TOKEN, else
// from the default file. If `make`, a missing default file is created (daemons); otherwise it is an
// error. Errors as above.
absl::StatusOr<std::string> FindToken(const std::string& flag, bool make);

// Compares two tokens. Takes the same time for all candidates of one length, so that the time does
// not reveal how much of a candidate is right.
bool SameToken(absl::string_view token, absl::string_view candidate);

}  // namespace accel::common
