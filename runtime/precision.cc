// The Accelerator's loss scaling.
#include <algorithm>
#include <stdexcept>

#include "runtime/accelerator.h"

namespace accel {

// Ranks that stepped on gradients of their own have come to scales of their own, which reduced
// gradients must not have.
void Accelerator::agree_on_scale() {
  if (scaler_ == nullptr || !scaler_->may_differ()) return;
  const auto all = state_->communicator->all_gather_number(ordinal_of(scaler_->state()));
  scaler_->set_state(loss_scale_of(*std::min_element(all.begin(), all.end())));
  scaler_->made_equal();
}

torch::Tensor Accelerator::scaled(const torch::Tensor& loss, bool reduced) {
  if (scaler_ == nullptr) return loss;
  // Inside of join_uneven_inputs() some ranks may have ended; they agreed when it began.
  if (reduced && use_distributed() && state_->uneven_inputs == nullptr) agree_on_scale();
  return scaler_->scale(loss, reduced);
}

LossScaler* Accelerator::unscaling() const {
  if (scaler_ != nullptr && !sync_gradients()) {
    throw std::logic_error(
        "fp16 gradients cannot be unscaled or clipped while they are accumulated: do so only if "
        "accelerator.sync_gradients()");
  }
  return scaler_.get();
}

void Accelerator::unscale_gradients() {
  if (LossScaler* scaler = unscaling()) scaler->unscale_all();
}

}  // namespace accel
