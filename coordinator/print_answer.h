// Prints what a command of accel-coordinator answers to the person who has typed it.
#pragma once

#include <cstdio>
#include <string>

#include "absl/status/statusor.h"

namespace accel::coordinator {

// Prints the sentence, or the error. Returns the exit code: 0, or 1 for an error.
inline int PrintAnswer(const absl::StatusOr<std::string>& answer) {
  if (answer.ok()) {
    std::printf("%s\n", answer->c_str());
    return 0;
  }
  std::fprintf(stderr, "accel-coordinator: %s\n", std::string(answer.status().message()).c_str());
  return 1;
}

}  // namespace accel::coordinator
