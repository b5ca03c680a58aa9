// Exponential back-off with jitter. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace accel::common {

class Backoff {
 public:
  // The pause doubles from `first` up to `longest`. Simulations pass a fixed seed.
  Backoff(absl::Duration first, absl::Duration longest, uint32_t seed = std::random_device()())
      : first_(first), longest_(longest), next_(first), random_(seed) {}

  // Returns the pause before the next attempt. It is a random time between half of the current
  // pause and all of it, so that the retries of many clients are spread out.
  absl::Duration Next() {
    const absl::Duration pause = next_ * std::uniform_real_distribution<double>(0.5, 1.0)(random_);
    next_ = std::min(next_ * 2, longest_);
    return pause;
  }

  void Reset() { next_ = first_; }

 private:
  const absl::Duration first_;
  const absl::Duration longest_;
  absl::Duration next_;
  std::minstd_rand random_;
};

}  // namespace accel::common
