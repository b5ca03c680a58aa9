// Makes bytes from outside, such as a worker's output, safe for a message, a terminal and
// a protobuf string.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace accel::common {

// Returns valid UTF-8 for any input. Each invalid byte becomes U+FFFD. Characters that must not be
// shown on a terminal (ShownLength() in common/utf8.h), except the tab, become \xNN for each byte.
std::string Printable(absl::string_view bytes);

// Returns `text`, which must be valid UTF-8, in at most `most` bytes (at least 16). The middle of a
// longer text is replaced by " ... ".
std::string Shortened(absl::string_view text, size_t most);

}  // namespace accel::common
