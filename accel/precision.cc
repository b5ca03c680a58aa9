// The Accelerator's mixed precision: the scaling of losses, and who runs outside of autocast.
#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "accel/accelerator.h"
#include "runtime/precision/autocast_use.h"

namespace accel {

// A batch that ends no window is reduced at its end: it has the scale that the end will have.
torch::Tensor Accelerator::scaled(const torch::Tensor& loss, bool reduced) {
  if (scaler_ == nullptr) return loss;
  const bool is_open = !state_->open_batches.of(*accumulation_).empty();
  const bool will_be_reduced = reduced || (is_open && !accumulation_->reduces());
  return scaler_->scale(
      loss, {.is_own = use_distributed() && !will_be_reduced,
             .batch = is_open ? std::optional(accumulation_->batches()) : std::nullopt});
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

GradScaler* Accelerator::unscaling() const {
  if (scaler_ != nullptr && !sync_gradients()) {
    throw std::logic_error(
        "fp16 gradients cannot be unscaled or clipped while they are accumulated: do so only if "
        "accelerator.sync_gradients()");
  }
  return scaler_.get();
}

void Accelerator::unscale_gradients() {
  if (GradScaler* scaler = unscaling()) scaler->unscale_all();
}

}  // namespace accel
