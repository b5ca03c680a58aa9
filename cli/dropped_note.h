#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace accel::cli {

// Returns the line that stands for output that was dropped, without its end.
inline std::string DroppedNote(int64_t bytes) {
  return absl::StrCat("... ", bytes, " bytes of output were dropped ...");
}

}  // namespace accel::cli
