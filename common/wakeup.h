// Wakes a loop that waits for events or for a moment, by the monotonic clock only (absl::CondVar
// waits by the wall clock's deadline). Thread-safe.
#pragma once

#include <condition_variable>
#include <mutex>

#include "absl/time/time.h"

namespace accel::common {

class Wakeup {
 public:
  // Ends the wait under way, or else the next one.
  void Notify();

  // Returns once notified, or after `timeout` (which may be infinite, and is over at once if not
  // positive).
  void WaitFor(absl::Duration timeout);

 private:
  std::mutex mutex_;
  std::condition_variable notified_changed_;
  bool notified_ = false;
};

}  // namespace accel::common
