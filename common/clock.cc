#include "common/clock.h"

#include <time.h>

namespace accel::common {
namespace {

class MonotonicClock final : public Clock {
 public:
  absl::Time Now() override {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return absl::UnixEpoch() + absl::DurationFromTimespec(now);
  }
};

}  // namespace

Clock* SteadyClock() {
  static MonotonicClock* const clock = new MonotonicClock;
  return clock;
}

}  // namespace accel::common
