// Recognises valid UTF-8, because protobuf refuses to parse other strings, and the characters that
// are safe to show on a terminal. Pure.
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace accel::common {

// Returns the length in bytes of the well-formed character (Unicode table 3-7) that `text` begins
// with, or 0 if it begins with none. `text` must not be empty.
size_t Utf8Length(absl::string_view text);

bool IsUtf8(absl::string_view text);

// Returns the same, but 0 also for a character that must not be shown, because a terminal obeys it:
// controls (U+0000 to U+001F, U+007F to U+009F), line and paragraph separators, and characters that
// change the direction of text. The latter can make one name look like another.
size_t ShownLength(absl::string_view text);

}  // namespace accel::common
