// Prints the answer of a command of a daemon, such as `accel-coordinator --check`, for the person
// who has typed it.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/print_text.h"

namespace accel::common {

// Prints the sentence to standard output, or the error to standard error. `program` starts an
// error. Returns the exit code: 0, or 1 for an error. An answer that cannot be written is one too.
inline int PrintAnswer(const char* program, const absl::StatusOr<std::string>& answer) {
  if (!answer.ok()) {
    std::fprintf(stderr, "%s: %s\n", program, std::string(answer.status().message()).c_str());
    return 1;
  }
  if (PrintText(absl::StrCat(*answer, "\n"))) return 0;
  std::fprintf(stderr, "%s: cannot write the answer to standard output: %s\n", program,
               std::strerror(errno));
  return 1;
}

}  // namespace accel::common
