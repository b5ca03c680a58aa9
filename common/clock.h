// The door to time. Everything that decides takes `now` as a value; only shells hold a Clock.
#pragma once

#include "absl/time/time.h"

namespace accel::common {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Monotonic: never goes back, unaffected by changes of the wall clock. The epoch means nothing.
  virtual absl::Time Now() = 0;
};

// CLOCK_MONOTONIC. Lives for ever.
Clock* SteadyClock();

}  // namespace accel::common
