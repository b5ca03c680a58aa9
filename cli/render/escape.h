// Text that others wrote (job names, reasons, output of workers), made safe for a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace accel {

// Control characters, escape sequences and bytes that are no UTF-8 become \n, \t, \x1b...; all
// other text stays. Pure.
std::string EscapeControls(absl::string_view text);

// The number of characters (code points), which is what a terminal shows of escaped text in most
// scripts.
size_t DisplayWidth(absl::string_view text);

}  // namespace accel
