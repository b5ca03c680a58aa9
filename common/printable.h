// Makes bytes that a worker printed fit for a message, a terminal and a protobuf string.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace accel::common {

// Valid UTF-8 for any input: invalid sequences become U+FFFD, control characters but the tab become
// \xNN.
std::string Printable(absl::string_view bytes);

// `text`, which is valid UTF-8, in at most `most` bytes (at least 16): a longer one loses its
// middle, in whose place stands " ... ".
std::string Shortened(absl::string_view text, size_t most);

}  // namespace accel::common
