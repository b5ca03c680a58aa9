// Log lines about calls that were refused, and about connections that were cut. Callers can cause
// any number of them. At most one line of each kind is therefore logged per second, with the number
// of lines that were left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
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

  // `what` is the kind. No caller may choose it.
  void Warn(absl::string_view what, const std::string& peer, const std::string& why) {
    std::optional<int64_t> others;
    {
      absl::MutexLock lock(&mutex_);
      others = throttles_.try_emplace(what, absl::Seconds(1)).first->second.Admit(clock_->Now());
    }
    if (!others.has_value()) return;
    common::LogWarning(what, {{"peer", peer}, {"why", why}, {"others_since", *others}});
  }

 private:
  common::Clock* const clock_;
  absl::Mutex mutex_;
  // A flood of one kind must not hide the others.
  absl::flat_hash_map<std::string, common::LogThrottle> throttles_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::coordinator
