// Parses the numbers that `add` keeps as text.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace accel::rendezvous {

// Parses like std::stoll(), which PyTorch's server uses: leading space, a sign, and then digits up
// to the first other character. nullopt if there are no digits, or the number is out of range.
std::optional<int64_t> ParseLeadingInt64(absl::string_view text);

}  // namespace accel::rendezvous
