// Makes the output of workers safe to show on a terminal, while it arrives in pieces.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace accel::cli {

// Escapes control characters and bytes that are not UTF-8, as \x1b and so on. Line feeds, carriage
// returns, tabs, colors (ESC [ … m) and the erasing of a line (ESC [ K) are kept. Programs use
// these, and they do no harm. Pure. Not thread-safe.
class TerminalText {
 public:
  // Returns the text to write. An incomplete sequence is held back.
  std::string Add(absl::string_view bytes);
  // Returns the bytes that were held back. Must be called at the end.
  std::string Flush();

 private:
  std::string held_;
};

}  // namespace accel::cli
