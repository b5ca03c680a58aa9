// The home directory of the user who runs this process.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace accel::common {

// Returns HOME, or the home directory in the user database if HOME is not set. FAILED_PRECONDITION:
// there is none; the message says to set HOME.
absl::StatusOr<std::string> HomeDir();

}  // namespace accel::common
