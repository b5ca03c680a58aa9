// The numbers that `add` keeps as text.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace accel::rendezvous {

// Reads as std::stoll does, which PyTorch's server uses: leading space, a sign, then digits up to
// the first other character. nullopt: no digits, or out of range.
std::optional<int64_t> ParseLeadingInt64(absl::string_view text);

}  // namespace accel::rendezvous
