// Wraps running text for a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace accel::common {

// Breaks lines at spaces so that none is longer than `columns`, and indents each line by `indent`
// spaces. A longer word is not broken. Line feeds in the text are kept. Lines that begin with a
// space are not broken. The result has no line feed at the end. Pure.
std::string Wrap(absl::string_view text, size_t columns, size_t indent);

}  // namespace accel::common
