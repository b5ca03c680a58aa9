#include "shim/host/shim_watchdog.h"

#include <algorithm>

namespace accel::shim {

void ShimWatchdog::StopSent(absl::Time now, absl::Duration grace) {
  if (!sent_again_ && !exit_sent_) due_at_ = std::min(due_at_, now + grace + slack_);
}

void ShimWatchdog::ExitSent(absl::Time now) {
  exit_sent_ = true;
  due_at_ = now + 2 * slack_;
}

void ShimWatchdog::ReportReceived(absl::Time now) {
  if (!sent_again_ || exit_sent_ || answers_ >= most_answers_) return;
  ++answers_;
  sent_again_ = false;
  due_at_ = now + slack_;
}

void ShimWatchdog::Disarm() {
  if (exit_sent_) return;
  sent_again_ = false;
  answers_ = 0;
  due_at_ = absl::InfiniteFuture();
}

ShimWatchdog::Step ShimWatchdog::Due(absl::Time now) {
  if (now < due_at_) return Step::kWait;
  const bool kill = sent_again_ || exit_sent_;
  sent_again_ = true;
  due_at_ = kill ? absl::InfiniteFuture() : now + slack_;
  return kill ? Step::kKill : Step::kSendAgain;
}

}  // namespace accel::shim
