// The credential of every TCP call to a daemon: one secret of the user, in a file that only they
// can read.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace accel::common {

// HOME/.config/accel/token, with HOME from the environment or else the user database.
// FAILED_PRECONDITION: no home.
absl::StatusOr<std::string> DefaultTokenPath();

// NOT_FOUND: no such file. FAILED_PRECONDITION: others can read the file or it belongs to somebody
// else, with the remedy. INVALID_ARGUMENT: what it holds is no token (16 to 4096 printable
// characters).
absl::StatusOr<std::string> ReadToken(const std::string& path);

// Reads the file, or first makes it, with its folders and a new token of 256 random bits. However
// many processes do this at once, all return the same token.
absl::StatusOr<std::string> ReadOrMakeToken(const std::string& path);

// The token to use: from the file `flag` names, else the value of ACCEL_TOKEN, else the default
// file, which is made first if `make` is set (daemons) and must exist otherwise. Errors as above.
absl::StatusOr<std::string> FindToken(const std::string& flag, bool make);

// Takes the same time for every candidate of this length.
bool SameToken(absl::string_view token, absl::string_view candidate);

}  // namespace accel::common
