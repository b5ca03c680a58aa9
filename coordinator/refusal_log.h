// Log lines about calls that were refused. Callers can cause any number of refusals. At most one
// line per second is therefore logged, with the number of lines that were left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/log_throttle.h"

namespace accel::coordinator {

// Thread-safe.
class RefusalLog {
 public:
  explicit RefusalLog(common::Clock* clock) : clock_(clock) {}

  void Warn(absl::string_view what, const std::string& peer, const std::string& why) {
    std::optional<int64_t> others;
    {
      absl::MutexLock lock(&mutex_);
      others = throttle_.Admit(clock_->Now());
    }
    if (!others.has_value()) return;
    common::LogWarning(what, {{"peer", peer}, {"why", why}, {"others_since", *others}});
  }

 private:
  common::Clock* const clock_;
  absl::Mutex mutex_;
  common::LogThrottle throttle_ ABSL_GUARDED_BY(mutex_){absl::Seconds(1)};
};

}  // namespace accel::coordinator
