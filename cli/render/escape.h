// Text that others wrote (job names, reasons, output of workers), made safe for a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace accel::cli {

// What ShownLength() (common/utf8.h) lets nobody show, and bytes that are no UTF-8, become \n, \t,
// \x1b...; all other text stays, and so does what was escaped before. Pure.
std::string EscapeControls(absl::string_view text);

// The number of characters (code points), which is what a terminal shows of escaped text in most
// scripts.
size_t DisplayWidth(absl::string_view text);

}  // namespace accel::cli
