// Finds the shim's binary.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace accel::agent {

// Returns the first of these that exists: `flag`, ACCEL_SHIM, `accel-shim` next to this program,
// and its place in a Bazel tree. If the flag or the variable is set, but names no executable file,
// that is an error and the search ends. NOT_FOUND: the message has the places that were tried.
absl::StatusOr<std::string> FindShim(const std::string& flag);

}  // namespace accel::agent
