// Where the shim's binary is.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace accel::agent {

// The first that is there: `flag`, ACCEL_SHIM, `accel-shim` beside this program, and its place in a
// Bazel tree. A flag or variable that names no executable is an error, not passed over. NOT_FOUND:
// the places that were looked at.
absl::StatusOr<std::string> FindShim(const std::string& flag);

}  // namespace accel::agent
