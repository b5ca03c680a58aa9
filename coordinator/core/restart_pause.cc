#include "coordinator/core/restart_pause.h"

#include <algorithm>

namespace accel::coordinator {

absl::Duration RestartPause(const Limits& limits, int quick_failures) {
  if (quick_failures <= 1) return absl::ZeroDuration();
  absl::Duration pause = limits.first_restart_pause;
  for (int i = 2; i < quick_failures && pause < limits.longest_restart_pause; ++i) pause *= 2;
  return std::min(pause, limits.longest_restart_pause);
}

int CountQuickFailure(const Limits& limits, int before, absl::Time started, absl::Time now) {
  return now - started >= limits.steady_after ? 1 : before + 1;
}

}  // namespace accel::coordinator
