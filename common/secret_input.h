// Reads a secret that a person or a program passes to a command. A secret is never an argument,
// because other users of the machine can read arguments.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace accel::common {

inline constexpr size_t kMaxSecretInputBytes = 4096;

// Returns the first line of `file` that is not empty, without white space around it. If `file` is
// empty or "-", reads standard input. If standard input is a terminal, prints `prompt` and does not
// show the typed characters. INVALID_ARGUMENT: the input is empty, or longer than 4 KiB. Other
// errors are those of the file system.
absl::StatusOr<std::string> ReadSecretInput(const std::string& file, absl::string_view prompt);

}  // namespace accel::common
