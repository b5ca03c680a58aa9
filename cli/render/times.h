// Times and sizes for people. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace accel::cli {

// "0.4 s", "12 s", "3 min 5 s", "2 h 5 min", "3 d 4 h". Negative: "0 s".
std::string DurationText(absl::Duration duration);

// "just now", "12 s ago", "3 min ago", "2 h ago", "3 d ago"; a time to come is "just now": clocks
// of two machines differ.
std::string AgoText(absl::Time then, absl::Time now);

// "512 B", "2.0 GiB".
std::string BytesText(int64_t bytes);

}  // namespace accel::cli
