#include "shim/host/timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace accel::shim {

common::UniqueFd MakeTimer() {
  return common::UniqueFd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
}

void ArmTimer(const common::UniqueFd& timer, absl::Duration in) {
  // A time of zero would disarm the timer.
  const itimerspec once = {{0, 0}, absl::ToTimespec(std::max(in, absl::Nanoseconds(1)))};
  timerfd_settime(timer.get(), 0, &once, nullptr);
}

void ClearTimer(const common::UniqueFd& timer) {
  uint64_t expirations = 0;
  while (read(timer.get(), &expirations, sizeof(expirations)) > 0) continue;
}

}  // namespace accel::shim
