// The home directory of the user who runs this process.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace accel::common {

// Returns HOME, or else what the user database says. FAILED_PRECONDITION: there is none; the
// message says to set HOME.
absl::StatusOr<std::string> HomeDir();

}  // namespace accel::common
