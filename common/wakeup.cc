#include "common/wakeup.h"

#include <algorithm>
#include <chrono>

namespace accel::common {

void Wakeup::Notify() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    notified_ = true;
  }
  notified_changed_.notify_one();
}

bool Wakeup::WaitFor(absl::Duration timeout) {
  // Bounded because an infinite time cannot be added to the present time. A caller that has nothing
  // to do waits again.
  const absl::Duration bounded = std::min(timeout, absl::Hours(24));
  std::unique_lock<std::mutex> lock(mutex_);
  const bool notified = notified_changed_.wait_until(
      lock, std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(bounded),
      [this] { return notified_; });
  notified_ = false;
  return notified;
}

}  // namespace accel::common
