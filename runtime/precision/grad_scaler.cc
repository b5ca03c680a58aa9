#include "runtime/precision/grad_scaler.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "runtime/distinct.h"
#include "runtime/precision/libtorch.h"

namespace accel::runtime {
namespace {

using torch::optim::Optimizer;
using Tensors = std::unordered_set<const void*>;

std::vector<at::Tensor> parameters_of(const Optimizer& optimizer) {
  std::vector<at::Tensor> parameters;
  for (const auto& group : optimizer.param_groups()) {
    parameters.insert(parameters.end(), group.params().begin(), group.params().end());
  }
  return distinct(parameters);
}

// Gradients that one kernel can unscale together.
struct Batch {
  at::Device device;
  at::ScalarType dtype;
  bool unscaled;  // By another optimizer of the parameters.
  std::vector<at::Tensor> gradients;
};

std::vector<Batch> gradients_of(const Optimizer& optimizer, const Tensors& unscaled) {
  std::vector<Batch> batches;
  for (const at::Tensor& parameter : parameters_of(optimizer)) {
    if (!parameter.grad().defined() || parameter.grad().numel() == 0) continue;
    const bool is_unscaled = unscaled.contains(parameter.unsafeGetTensorImpl());
    at::Tensor gradient = parameter.grad().detach();
    if (gradient.scalar_type() == at::kHalf) {
      throw std::invalid_argument(
          "a parameter of shape " + at::str(parameter.sizes()) +
          " has an fp16 gradient, which cannot be unscaled without loss: keep parameters in fp32, "
          "and let mixed_precision choose what runs in fp16");
    }
    if (gradient.is_sparse()) gradient = gradient._values();
    auto batch = std::find_if(batches.begin(), batches.end(), [&](const Batch& one) {
      return one.device == gradient.device() && one.dtype == gradient.scalar_type() &&
             one.unscaled == is_unscaled;
    });
    if (batch == batches.end()) {
      batch =
          batches.insert(batch, Batch{gradient.device(), gradient.scalar_type(), is_unscaled, {}});
    }
    batch->gradients.push_back(std::move(gradient));
  }
  return batches;
}

}  // namespace

GradScaler::GradScaler(const LossScalingOptions& options)
    : shared_(DynamicLossScale(options)), scale_(shared_.scale()) {}

void GradScaler::add(const std::shared_ptr<Optimizer>& optimizer,
                     std::shared_ptr<const OptimizerGradients> gradients) {
  std::erase_if(optimizers_, [](const Owned& owned) { return owned.living.expired(); });
  const auto known = std::find_if(optimizers_.begin(), optimizers_.end(), [&](const Owned& owned) {
    return owned.optimizer == optimizer.get();
  });
  if (known != optimizers_.end()) return;
  optimizers_.push_back(
      {.living = optimizer, .optimizer = optimizer.get(), .gradients = std::move(gradients)});
}

at::Tensor GradScaler::scale(const at::Tensor& loss, const ScaledPass& pass) {
  if (std::all_of(optimizers_.begin(), optimizers_.end(),
                  [](const Owned& owned) { return owned.living.expired(); })) {
    throw std::logic_error(
        "mixed_precision fp16 scales the loss, and no prepared optimizer would undo that: "
        "prepare() the optimizer before backward(), with the same Accelerator");
  }
  const float before = shared_.scale();
  (pass.is_own ? own() : shared_).begin_loss(pass.batch);
  // This process's own scale was derived from the previous shared scale, so it starts again from
  // the new one.
  if (shared_.scale() != before) own_.reset();
  bring_gradients_to(pass.is_own ? own().scale() : shared_.scale());
  // The scale is a tensor of fp32, because an fp16 loss times a plain number remains fp16
  // and would overflow.
  return loss.mul(at::full({}, scale_, loss.options().dtype(at::kFloat)));
}

ScaleRound& GradScaler::own() {
  if (!own_) own_.emplace(shared_.after());
  return *own_;
}

// Multiplies gradients from the scale of the last loss, or from 1 if they are unscaled, to `scale`.
void GradScaler::bring_gradients_to(float scale) {
  // Each gradient is multiplied once, although several optimizers may have its parameter.
  Tensors unscaled = unscaled_parameters(), done;
  for (Owned& owned : optimizers_) {
    owned.unscaled = false;
    const auto living = owned.living.lock();
    if (living == nullptr) continue;
    for (const at::Tensor& parameter : parameters_of(*living)) {
      const void* id = parameter.unsafeGetTensorImpl();
      const double factor = static_cast<double>(scale) / (unscaled.contains(id) ? 1 : scale_);
      if (factor == 1 || !parameter.grad().defined() || !done.insert(id).second) continue;
      at::Tensor gradient = parameter.grad().detach();
      (gradient.is_sparse() ? gradient._values() : gradient).mul_(factor);
    }
  }
  scale_ = scale;
}

std::unordered_set<const void*> GradScaler::unscaled_parameters() const {
  Tensors unscaled;
  for (const Owned& owned : optimizers_) {
    const auto living = owned.unscaled ? owned.living.lock() : nullptr;
    if (living == nullptr) continue;
    for (const at::Tensor& parameter : parameters_of(*living)) {
      unscaled.insert(parameter.unsafeGetTensorImpl());
    }
  }
  return unscaled;
}

void GradScaler::settle() { bring_gradients_to(state().scale); }

GradScaler::Owned& GradScaler::of(const Optimizer& optimizer) {
  const auto found = std::find_if(optimizers_.begin(), optimizers_.end(), [&](const Owned& owned) {
    return owned.optimizer == &optimizer;
  });
  if (found != optimizers_.end()) return *found;
  throw std::invalid_argument(
      "this optimizer is not prepared, or was forgotten by free_memory(): prepare it");
}

void GradScaler::unscale(Owned& owned) {
  if (owned.unscaled) return;
  std::vector<Batch> batches = gradients_of(*owned.optimizer, unscaled_parameters());
  const float inverse = static_cast<float>(1.0 / scale_);
  std::vector<at::Tensor> overflows;
  for (Batch& batch : batches) {
    const auto options = at::TensorOptions(batch.device).dtype(at::kFloat);
    overflows.push_back(at::zeros({}, options));
    at::_amp_foreach_non_finite_check_and_unscale_(
        batch.gradients, overflows.back(), at::full({}, batch.unscaled ? 1 : inverse, options));
  }
  owned.unscaled = true;
  // item() blocks on the device, so it is called only after all checks are queued.
  owned.overflowed = std::any_of(overflows.begin(), overflows.end(),
                                 [](const at::Tensor& found) { return found.item<float>() != 0; });
  if (agree_ != nullptr) owned.overflowed = agree_(owned.overflowed);
  const bool is_reduced = owned.gradients == nullptr || owned.gradients->are_reduced();
  (is_reduced ? shared_ : own()).add_step(owned.optimizer, owned.overflowed);
}

void GradScaler::unscale(const Optimizer& optimizer) { unscale(of(optimizer)); }

void GradScaler::unscale_all() {
  for (Owned& owned : optimizers_) {
    if (!owned.living.expired()) unscale(owned);
  }
}

void GradScaler::unscale_owners(const std::vector<at::Tensor>& parameters) {
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

bool GradScaler::may_step(const Optimizer& optimizer) {
  Owned& owned = of(optimizer);
  unscale(owned);
  owned.skipped = owned.overflowed;
  return !owned.skipped;
}

bool GradScaler::step_was_skipped(const Optimizer& optimizer) const {
  return std::any_of(optimizers_.begin(), optimizers_.end(), [&](const Owned& owned) {
    return owned.optimizer == &optimizer && owned.skipped;
  });
}

bool GradScaler::any_step_was_skipped() const {
  return std::any_of(optimizers_.begin(), optimizers_.end(),
                     [](const Owned& owned) { return !owned.living.expired() && owned.skipped; });
}

LossScaleState GradScaler::state() const { return shared_.after().state(); }

void GradScaler::set_state(const LossScaleState& state) {
  DynamicLossScale scale = shared_.after();
  scale.set_state(state);
  shared_ = ScaleRound(scale);
  own_.reset();
  scale_ = scale.scale();
  for (Owned& owned : optimizers_) owned.unscaled = false;
}

}  // namespace accel::runtime
