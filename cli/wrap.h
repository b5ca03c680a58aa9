// Running text for a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace accel::cli {

// Breaks lines at spaces so that none is longer than `columns` (a longer word stays whole) and
// indents each by `indent` spaces. Line ends in the text stay; lines that begin with a space are
// kept as they are. No line end at the end. Pure.
std::string Wrap(absl::string_view text, size_t columns, size_t indent);

}  // namespace accel::cli
