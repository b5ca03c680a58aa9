#pragma once

#include <memory>
#include <utility>

#include "runtime/core/accumulation.h"
#include "runtime/optim/gradient_origin.h"
#include "runtime/precision/grad_scaler.h"

namespace torch::optim {
class Optimizer;
}

namespace accel::runtime {

// The end of a training step, as one prepared optimizer asks for it: whether the optimizer may
// step, and that it has zeroed its gradients. A value; copies are about the same optimizer.
class OptimizerStep {
 public:
  OptimizerStep() = default;
  // `scaler` is null if losses are not scaled, `gradients` if any gradients are good to step on.
  OptimizerStep(std::shared_ptr<const Accumulation> window, std::shared_ptr<GradScaler> scaler,
                std::shared_ptr<OptimizerGradients> gradients)
      : window_(std::move(window)), scaler_(std::move(scaler)), gradients_(std::move(gradients)) {}

  // Whether the batch ends its window of accumulation. If not, step() and zero_grad() do nothing.
  bool is_due() const { return window_->sync_gradients(); }

  // Throws std::logic_error, with what to do instead, if the gradients are not fit for a step: see
  // OptimizerGradients::expect_ready(). With a closure this comes after the closure.
  void expect_ready() const {
    if (gradients_ != nullptr) gradients_->expect_ready(window_->is_forced());
  }

  bool scales_losses() const { return scaler_ != nullptr; }
  // In fp16, unscales the gradients, and returns whether all of them are finite.
  bool may_step(const torch::optim::Optimizer& optimizer) const {
    return scaler_ == nullptr || scaler_->may_step(optimizer);
  }
  // Whether the last step that was due was not made, because gradients had overflowed.
  bool was_skipped(const torch::optim::Optimizer& optimizer) const {
    return scaler_ != nullptr && scaler_->step_was_skipped(optimizer);
  }

  // Ends the step: the optimizer has zeroed its gradients.
  void end() const {
    if (gradients_ != nullptr) gradients_->zeroed();
  }

 private:
  std::shared_ptr<const Accumulation> window_;
  std::shared_ptr<GradScaler> scaler_;
  std::shared_ptr<OptimizerGradients> gradients_;
};

}  // namespace accel::runtime
