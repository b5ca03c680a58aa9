// Makes text from outside (job names, reasons, output of workers) safe to show on a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace accel::cli {

// Escapes the characters that ShownLength() (common/utf8.h) rejects, and bytes that are not UTF-8,
// as \n, \t, \x1b and so on. Other text is kept, and escaped text is not escaped again. Pure.
std::string EscapeControls(absl::string_view text);

// Returns the number of code points. In most scripts this is the width of escaped text
// on a terminal.
size_t DisplayWidth(absl::string_view text);

}  // namespace accel::cli
