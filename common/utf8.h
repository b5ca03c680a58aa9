// Which bytes are UTF-8 (protobuf refuses to parse a string that is not), and which of it can be
// shown.
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace accel::common {

// The length of the well-formed character (Unicode table 3-7) that `text`, which is not empty,
// begins with; 0 if it begins with none.
size_t Utf8Length(absl::string_view text);

bool IsUtf8(absl::string_view text);

// The same, but 0 too for a character that must not be shown as it is, because a terminal obeys it:
// a control (U+0000 to U+001F, U+007F to U+009F), a line or paragraph separator, or one that
// changes the direction of text, with which a name can pretend to be another.
size_t ShownLength(absl::string_view text);

}  // namespace accel::common
