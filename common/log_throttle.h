// Keeps an event that may repeat for months from filling the log.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/time/time.h"

namespace accel::common {

// One kind of event. Not thread-safe.
class LogThrottle {
 public:
  explicit LogThrottle(absl::Duration pause) : pause_(pause) {}

  // Whether this event is worth a line: the first is, then one each `pause`. The value is how many
  // were left out since the last line. `now` is monotonic.
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
