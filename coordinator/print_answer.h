// Prints the answer of a command of accel-coordinator for the person who has typed it.
#pragma once

#include <cstdio>
#include <string>

#include "absl/status/statusor.h"

namespace accel::coordinator {

// Prints the sentence to standard output, or the error to standard error. Returns the exit code: 0,
// or 1 for an error.
inline int PrintAnswer(const absl::StatusOr<std::string>& answer) {
  if (answer.ok()) {
    std::printf("%s\n", answer->c_str());
    return 0;
  }
  std::fprintf(stderr, "accel-coordinator: %s\n", std::string(answer.status().message()).c_str());
  return 1;
}

}  // namespace accel::coordinator
