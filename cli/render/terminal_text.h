// Makes the output of workers safe to show on a terminal, while it arrives in pieces.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace accel::cli {

// Escapes control characters and bytes that are not UTF-8, as \x1b and so on. Line feeds, carriage
// returns, tabs, colours (ESC [ … m) and the erasing of a line (ESC [ K) are kept, because programs
// use them for harmless things. Pure. Not thread-safe.
class TerminalText {
 public:
  // Returns the text to write. A sequence without its end is held back.
  std::string Add(absl::string_view bytes);
  // Returns what was held back. Call it at the end.
  std::string Flush();

 private:
  std::string held_;
};

}  // namespace accel::cli
