// Finds a binary of accel that another program of accel starts.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace accel::common {

struct BinaryPlace {
  const char* name;       // For example "accel-shim".
  const char* flag;       // The flag that names it, for messages. Empty if there is none.
  const char* variable;   // The environment variable that names it.
  const char* workspace;  // Its folder in the source tree, for runs from a Bazel tree.
};

// Returns the first of these that exists: `flag_value`, the variable's value, the binary next to
// this program, and its place in a Bazel tree. If the flag or the variable is set, but names no
// executable file, that is an error and the search ends. NOT_FOUND: the message has the places
// that were tried.
absl::StatusOr<std::string> FindBinary(const BinaryPlace& binary, const std::string& flag_value);

}  // namespace accel::common
