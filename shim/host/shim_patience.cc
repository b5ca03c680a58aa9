#include "shim/host/shim_patience.h"

#include <algorithm>

namespace accel::shim {

void ShimPatience::ToldToStop(absl::Time now, absl::Duration grace) {
  if (!told_again_ && !told_to_exit_) due_at_ = std::min(due_at_, now + grace + slack_);
}

void ShimPatience::ToldToExit(absl::Time now) {
  told_to_exit_ = true;
  due_at_ = now + 2 * slack_;
}

void ShimPatience::Heard(absl::Time now) {
  if (!told_again_ || told_to_exit_) return;
  told_again_ = false;
  due_at_ = now + slack_;
}

void ShimPatience::Rest() {
  if (told_to_exit_) return;
  told_again_ = false;
  due_at_ = absl::InfiniteFuture();
}

ShimPatience::Step ShimPatience::Due(absl::Time now) {
  if (now < due_at_) return Step::kWait;
  const bool kill = told_again_ || told_to_exit_;
  told_again_ = true;
  due_at_ = kill ? absl::InfiniteFuture() : now + slack_;
  return kill ? Step::kKill : Step::kTellAgain;
}

}  // namespace accel::shim
