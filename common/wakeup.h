// Wakes a loop that waits for events or for a time. It uses the monotonic clock, which
// absl::CondVar does not. Thread-safe.
#pragma once

#include <condition_variable>
#include <mutex>

#include "absl/time/time.h"

namespace accel::common {

class Wakeup {
 public:
  // Ends the current wait, or the next one if no thread is waiting.
  void Notify();

  // Blocks until notified, or until `timeout` has passed, but for at most 24 hours. If `timeout` is
  // not positive, returns immediately. Returns true if notified.
  bool WaitFor(absl::Duration timeout);

 private:
  std::mutex mutex_;
  std::condition_variable notified_changed_;
  bool notified_ = false;
};

}  // namespace accel::common
