// The times at which the loss scale moves.
//
// torch.amp.GradScaler leaves it to the program to call update() once per iteration, after all
// optimizers have stepped. accel has no such call, so it must find out which steps belong together.
// Accelerate moves the scale in each optimizer's step(), which is wrong with two optimizers. The
// second one would divide its gradients by another scale than its loss was multiplied by, and each
// iteration would count twice towards growth.
//
// So the scale moves only when a loss is scaled, and all steps between two moves are one round. The
// steps of one batch of accumulate() belong together. For a GAN, with growth_interval = 1:
//
// clang-format off
//   call                  batch   scale
//   backward(loss_d)        1      64
//   step of optimizer d     1      64
//   backward(loss_g)        1      64    same batch: the round continues
//   step of optimizer g     1      64
//   backward(loss_d)        2     128    another batch: the round counts as one step, and ends
// clang-format on
//
// An optimizer may step twice in one batch of accumulate(), if the program makes several steps of
// it. The round then ends at the next loss, because an overflow must not last until the end of the
// batch. Outside of accumulate() nothing marks a batch, so each loss after a step begins a round.
#include "runtime/core/scale_round.h"

#include <algorithm>

namespace accel::runtime {

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

}  // namespace accel::runtime
