// Formats times and sizes for people. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace accel::cli {

// Returns "0.4 s", "12 s", "3 min 5 s", "2 h 5 min" or "3 d 4 h". A negative duration is "0 s".
std::string DurationText(absl::Duration duration);

// Returns "just now", "12 s ago", "3 min ago", "2 h ago" or "3 d ago". A time in the future is
// "just now", because the clocks of two machines differ.
std::string AgoText(absl::Time then, absl::Time now);

// Returns "512 B" or "2.0 GiB".
std::string BytesText(int64_t bytes);

}  // namespace accel::cli
