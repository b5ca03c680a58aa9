// Recognises valid UTF-8, because protobuf refuses other strings. Also recognises the characters
// that are safe to show on a terminal. Pure.
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace accel::common {

// Returns the length in bytes of the well-formed character (Unicode table 3-7) at the start of
// `text`, or 0 if there is none. `text` must not be empty.
size_t Utf8Length(absl::string_view text);

bool IsUtf8(absl::string_view text);

// Returns Utf8Length(), or 0 for a character that must not be shown on a terminal. These are
// controls (U+0000 to U+001F, U+007F to U+009F), line and paragraph separators, and characters that
// change the direction of text. A terminal obeys controls, and a change of direction can make one
// name look like another.
size_t ShownLength(absl::string_view text);

}  // namespace accel::common
