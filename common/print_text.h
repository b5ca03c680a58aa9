// Prints a whole text, such as that of --help.
#pragma once

#include <cstdio>
#include <string>

namespace accel::common {

// Writes the text to standard output. Returns false if it cannot be written. Standard output is
// buffered, so a full disk may fail only the flush.
inline bool PrintText(const std::string& text) {
  return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
}

}  // namespace accel::common
