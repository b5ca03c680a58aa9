// Parses lists of GPU ids.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace accel::cli {

// Parses numbers that are separated by commas. INVALID_ARGUMENT: a part is not a number from
// `least` to `most`.
absl::StatusOr<std::vector<int>> ParseNumbers(absl::string_view text, int least, int most);

// Parses "all", which returns an empty list, or ids such as "0,1". INVALID_ARGUMENT: the message
// says what the value should be.
absl::StatusOr<std::vector<int>> ParseGpuIds(absl::string_view text);

}  // namespace accel::cli
