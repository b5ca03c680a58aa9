#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace accel::cli {

// Returns the line that replaces dropped output, without a line feed.
inline std::string DroppedNote(int64_t bytes) {
  return absl::StrCat("... ", bytes, " bytes of output were dropped ...");
}

}  // namespace accel::cli
