// Wakes a loop that waits for events or for a point in time. It uses the monotonic clock only,
// because absl::CondVar waits until a deadline of the wall clock. Thread-safe.
#pragma once

#include <condition_variable>
#include <mutex>

#include "absl/time/time.h"

namespace accel::common {

class Wakeup {
 public:
  // Ends the current wait, or the next one if no thread is waiting.
  void Notify();

  // Blocks until notified, or until `timeout` has passed. `timeout` may be infinite; if it is not
  // positive, returns immediately.
  void WaitFor(absl::Duration timeout);

 private:
  std::mutex mutex_;
  std::condition_variable notified_changed_;
  bool notified_ = false;
};

}  // namespace accel::common
