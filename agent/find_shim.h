// Finds the shim's binary.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace accel::agent {

// Returns the first of these that exists: `flag`, ACCEL_SHIM, `accel-shim` next to this program,
// and its place in a Bazel tree. A flag or variable that names no executable file is an error and
// is not skipped. NOT_FOUND: the message has the places that were tried.
absl::StatusOr<std::string> FindShim(const std::string& flag);

}  // namespace accel::agent
