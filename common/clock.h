// The door to time. Everything that decides takes `now` as a value; only shells hold a Clock.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace accel {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Monotonic: never goes back, unaffected by changes of the wall clock. The epoch means nothing.
  virtual absl::Time Now() = 0;
};

// CLOCK_MONOTONIC. Lives for ever.
Clock* SteadyClock();

// Stands still until told. For tests.
class SimulatedClock final : public Clock {
 public:
  explicit SimulatedClock(absl::Time start = absl::UnixEpoch() + absl::Hours(1)) : now_(start) {}

  absl::Time Now() override {
    absl::MutexLock lock(&mutex_);
    return now_;
  }
  void Advance(absl::Duration by) {
    absl::MutexLock lock(&mutex_);
    now_ += by;
  }

 private:
  absl::Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel
