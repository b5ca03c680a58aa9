// Limits how often a repeated event is logged, because an event that lasts for months must not
// fill the log.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/time/time.h"

namespace accel::common {

// The throttle of one kind of event. Not thread-safe.
class LogThrottle {
 public:
  explicit LogThrottle(absl::Duration pause) : pause_(pause) {}

  // Returns nullopt if this event must not be logged. Otherwise returns the number of events that
  // were not logged since the last line. The first event is logged, and then at most one per
  // `pause`. `now` is monotonic.
  std::optional<int64_t> Admit(absl::Time now) {
    if (now < next_) {
      ++left_out_;
      return std::nullopt;
    }
    next_ = now + pause_;
    return std::exchange(left_out_, 0);
  }

 private:
  const absl::Duration pause_;
  absl::Time next_ = absl::InfinitePast();
  int64_t left_out_ = 0;
};

}  // namespace accel::common
