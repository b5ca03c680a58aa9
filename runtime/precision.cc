// The Accelerator's mixed precision: the scaling of losses, and who runs outside of autocast.
#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "runtime/accelerator.h"
#include "runtime/precision/autocast_use.h"

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

// A prepared model that was called round its holder has computed in full precision, which nothing
// else would tell.
void Accelerator::expect_autocast(const torch::Tensor& loss) const {
  if (mixed_precision() == MixedPrecision::kNo) return;
  std::unordered_set<const void*> outside, inside;
  for (const UsedLeaf& used : leaves_behind(loss)) {
    (used.in_autocast ? inside : outside).insert(used.leaf);
  }
  if (outside.empty()) return;
  for (const auto& module : checkpointer_->models()) {
    bool is_outside = false, is_inside = false;
    for (const torch::Tensor& parameter : module->parameters()) {
      is_outside = is_outside || outside.contains(parameter.unsafeGetTensorImpl());
      is_inside = is_inside || inside.contains(parameter.unsafeGetTensorImpl());
    }
    if (!is_outside || is_inside) continue;
    throw std::logic_error(
        "backward: " + module->name() +
        " has run outside of autocast, in full precision: call the prepared model, model(x) "
        "instead of model->forward(x), or let what is to be so run within accelerator.autocast()");
  }
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
