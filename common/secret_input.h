// Reads a secret that a person or a program hands to a command. It is never an argument, because
// other users of the machine can read arguments.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace accel::common {

inline constexpr size_t kMaxSecretInputBytes = 4096;

// Returns one line: from `file` if it is not empty ("-" is standard input), otherwise from standard
// input. If that is a terminal, first prints `prompt` there, and does not show what is typed.
// White space around the line is dropped. INVALID_ARGUMENT: the input is empty, or longer than 4
// KiB. NOT_FOUND and the like: the file cannot be read.
absl::StatusOr<std::string> ReadSecretInput(const std::string& file, absl::string_view prompt);

}  // namespace accel::common
