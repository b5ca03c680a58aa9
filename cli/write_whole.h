#pragma once

#include "absl/strings/string_view.h"

namespace accel::cli {

// Writes `bytes`, and removes from it what was written. Waits if the descriptor is non-blocking,
// because another program that shares a terminal or pipe may have made it so. Returns 0 if all was
// written, else an errno.
int WriteWhole(int fd, absl::string_view* bytes);

}  // namespace accel::cli
