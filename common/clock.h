// The interface to time. Code that decides takes `now` as a value; only shells hold
// a Clock. Thread-safe.
#pragma once

#include "absl/time/time.h"

namespace accel::common {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Returns the monotonic time, which is unaffected by changes of the wall clock. Its epoch
  // has no meaning.
  virtual absl::Time Now() = 0;
};

// Returns the clock that reads CLOCK_MONOTONIC. It is never destroyed.
Clock* SteadyClock();

}  // namespace accel::common
