// Makes bytes that a worker printed fit for a message, a terminal and a protobuf string.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace accel {

// Valid UTF-8 for any input: invalid sequences become U+FFFD, control characters but the tab become
// \xNN.
std::string Printable(absl::string_view bytes);

}  // namespace accel
