// Which bytes are UTF-8: protobuf refuses to parse a string that is not.
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace accel {

// The length of the well-formed character (Unicode table 3-7) that `text`, which is not empty,
// begins with; 0 if it begins with none.
size_t Utf8Length(absl::string_view text);

bool IsUtf8(absl::string_view text);

}  // namespace accel
