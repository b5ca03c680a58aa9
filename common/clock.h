// The interface to time. Code in a core folder takes `now` as a value; only the code around it
// has a Clock.
#pragma once

#include "absl/time/time.h"

namespace accel::common {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Returns the monotonic time, which changes of the wall clock do not affect. Only differences of
  // such times have a meaning.
  virtual absl::Time Now() = 0;
};

// Returns the clock that reads CLOCK_MONOTONIC. It is never destroyed.
Clock* SteadyClock();

}  // namespace accel::common
