#pragma once

#include "absl/strings/string_view.h"

namespace accel::cli {

// Writes `bytes`, and removes the written bytes from its beginning. Waits if the descriptor is
// non-blocking, because another program that shares a terminal or pipe may have made it
// non-blocking. Returns 0 if all bytes were written, else an errno.
int WriteWhole(int fd, absl::string_view* bytes);

}  // namespace accel::cli
