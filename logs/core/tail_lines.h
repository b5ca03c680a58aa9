// The last lines that a rank printed, for the report of its failure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace accel::logs {

struct TailLimits {
  size_t lines = 20;
  size_t bytes = 4096;  // All returned lines together have at most this size.
};

// Returns the last lines of `text`, oldest first, in printable form (common/printable.h). \n and \r
// both end a line, and empty lines are left out. If the last line exceeds the limit of bytes, its
// end is returned.
std::vector<std::string> LastLinesOf(absl::string_view text, TailLimits limits = {});

}  // namespace accel::logs
