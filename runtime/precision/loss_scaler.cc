#include "runtime/precision/loss_scaler.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "runtime/distinct.h"
#include "runtime/precision/libtorch.h"

namespace accel {
namespace {

using torch::optim::Optimizer;

std::vector<at::Tensor> parameters_of(const Optimizer& optimizer) {
  std::vector<at::Tensor> parameters;
  for (const auto& group : optimizer.param_groups()) {
    parameters.insert(parameters.end(), group.params().begin(), group.params().end());
  }
  return distinct(parameters);
}

// Gradients that one kernel can take.
struct Batch {
  at::Device device;
  at::ScalarType dtype;
  std::vector<at::Tensor> gradients;
};

std::vector<Batch> gradients_of(const Optimizer& optimizer) {
  std::vector<Batch> batches;
  for (const at::Tensor& parameter : parameters_of(optimizer)) {
    if (!parameter.grad().defined()) continue;
    at::Tensor gradient = parameter.grad().detach();
    if (gradient.scalar_type() == at::kHalf) {
      throw std::invalid_argument(
          "a parameter of shape " + at::str(parameter.sizes()) +
          " has an fp16 gradient, which cannot be unscaled without loss: keep parameters in fp32, "
          "and let mixed_precision choose what runs in fp16");
    }
    if (gradient.is_sparse()) gradient = gradient._values();
    auto batch = std::find_if(batches.begin(), batches.end(), [&](const Batch& one) {
      return one.device == gradient.device() && one.dtype == gradient.scalar_type();
    });
    if (batch == batches.end()) {
      batch = batches.insert(batch, Batch{gradient.device(), gradient.scalar_type(), {}});
    }
    batch->gradients.push_back(std::move(gradient));
  }
  return batches;
}

}  // namespace

void LossScaler::add(const std::shared_ptr<Optimizer>& optimizer) {
  std::erase_if(optimizers_, [](const Owned& owned) { return owned.living.expired(); });
  const bool known = std::any_of(optimizers_.begin(), optimizers_.end(), [&](const Owned& owned) {
    return owned.optimizer == optimizer.get();
  });
  if (!known) optimizers_.push_back({.living = optimizer, .optimizer = optimizer.get()});
}

at::Tensor LossScaler::scale(const at::Tensor& loss, bool reduced) {
  const bool unscaled = std::any_of(optimizers_.begin(), optimizers_.end(),
                                    [](const Owned& owned) { return owned.unscaled; });
  if (unscaled) end_round();
  reduced_ = reduced && (reduced_ || unscaled);
  // A tensor and not a number, with which an fp16 loss would stay fp16 and overflow.
  return loss.mul(at::full({}, scale_.scale(), loss.options().dtype(at::kFloat)));
}

LossScaler::Owned& LossScaler::of(const Optimizer& optimizer) {
  const auto found = std::find_if(optimizers_.begin(), optimizers_.end(), [&](const Owned& owned) {
    return owned.optimizer == &optimizer;
  });
  if (found != optimizers_.end()) return *found;
  throw std::invalid_argument(
      "this optimizer is not prepared, or was forgotten by free_memory(): prepare it");
}

void LossScaler::unscale(Owned& owned) {
  if (owned.unscaled) return;
  std::vector<Batch> batches = gradients_of(*owned.optimizer);
  std::vector<at::Tensor> overflows;
  for (Batch& batch : batches) {
    const auto options = at::TensorOptions(batch.device).dtype(at::kFloat);
    overflows.push_back(at::zeros({}, options));
    at::_amp_foreach_non_finite_check_and_unscale_(batch.gradients, overflows.back(),
                                                   at::full({}, scale_.inverse(), options));
  }
  owned.unscaled = true;
  // Reading waits for the device, once all of its work is queued.
  owned.overflowed = std::any_of(overflows.begin(), overflows.end(),
                                 [](const at::Tensor& found) { return found.item<float>() != 0; });
  if (!reduced_) may_differ_ = true;
}

void LossScaler::unscale(const Optimizer& optimizer) { unscale(of(optimizer)); }

void LossScaler::unscale_all() {
  for (Owned& owned : optimizers_) {
    if (!owned.living.expired()) unscale(owned);
  }
}

void LossScaler::unscale_owners(const std::vector<at::Tensor>& parameters) {
  std::unordered_set<const void*> wanted;
  for (const at::Tensor& parameter : parameters) wanted.insert(parameter.unsafeGetTensorImpl());
  for (Owned& owned : optimizers_) {
    if (owned.living.expired()) continue;
    const std::vector<at::Tensor> owns = parameters_of(*owned.optimizer);
    if (std::any_of(owns.begin(), owns.end(), [&](const at::Tensor& parameter) {
          return wanted.contains(parameter.unsafeGetTensorImpl());
        })) {
      unscale(owned);
    }
  }
}

bool LossScaler::may_step(const Optimizer& optimizer) {
  Owned& owned = of(optimizer);
  unscale(owned);
  owned.skipped = owned.overflowed;
  return !owned.skipped;
}

bool LossScaler::step_was_skipped(const Optimizer& optimizer) const {
  return std::any_of(optimizers_.begin(), optimizers_.end(), [&](const Owned& owned) {
    return owned.optimizer == &optimizer && owned.skipped;
  });
}

bool LossScaler::any_step_was_skipped() const {
  return std::any_of(optimizers_.begin(), optimizers_.end(),
                     [](const Owned& owned) { return !owned.living.expired() && owned.skipped; });
}

LossScale LossScaler::after_round() const {
  LossScale after = scale_;
  bool unscaled = false, overflowed = false;
  for (const Owned& owned : optimizers_) {
    unscaled = unscaled || owned.unscaled;
    overflowed = overflowed || (owned.unscaled && owned.overflowed);
  }
  if (unscaled) after.update(overflowed);
  return after;
}

void LossScaler::end_round() {
  scale_ = after_round();
  for (Owned& owned : optimizers_) owned.unscaled = false;
}

LossScaleState LossScaler::state() const { return after_round().state(); }

void LossScaler::set_state(const LossScaleState& state) {
  end_round();
  scale_.set_state(state);
}

}  // namespace accel
