#include "runtime/core/scale_round.h"

#include <algorithm>

namespace accel {

DynamicLossScale ScaleRound::after() const {
  DynamicLossScale after = scale_;
  if (!stepped_.empty()) after.update(overflowed_);
  return after;
}

void ScaleRound::begin_loss(std::optional<std::uint64_t> batch) {
  const bool same_batch = batch && batch == batch_;
  if (!same_batch || has_repeated_) *this = ScaleRound(after());
  batch_ = batch;
}

void ScaleRound::add_step(const void* optimizer, bool overflowed) {
  if (std::find(stepped_.begin(), stepped_.end(), optimizer) != stepped_.end()) {
    has_repeated_ = true;
  } else {
    stepped_.push_back(optimizer);
  }
  overflowed_ = overflowed_ || overflowed;
}

}  // namespace accel
