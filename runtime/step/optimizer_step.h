// The part of a training step that a prepared optimizer uses in its step() and zero_grad().
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

// The end of a training step for one prepared optimizer: decides whether the optimizer may step,
// and records that it has zeroed its gradients. A value type; copies are for the same optimizer.
class OptimizerStep {
 public:
  OptimizerStep() = default;
  // `scaler` is null if losses are not scaled. `gradients` is null if every gradient may
  // be stepped on.
  OptimizerStep(std::shared_ptr<const Accumulation> window, std::shared_ptr<GradScaler> scaler,
                std::shared_ptr<OptimizerGradients> gradients)
      : window_(std::move(window)), scaler_(std::move(scaler)), gradients_(std::move(gradients)) {}

  // Returns true if the batch ends its window of accumulation. Otherwise step() and
  // zero_grad() do nothing.
  bool is_due() const { return window_->sync_gradients(); }

  // Throws std::logic_error, which says what to do instead, if the gradients must not be stepped on
  // (see OptimizerGradients::expect_ready()). If there is a closure, call this after the closure.
  void expect_ready() const {
    if (gradients_ != nullptr) gradients_->expect_ready(window_->is_forced());
  }

  // Gives the parameters of sharded models the values to step on, as long as the result lives.
  // Returns null if no model is sharded. Throws std::logic_error if the gradients of a sharded
  // model are incomplete.
  std::shared_ptr<void> begin_step() const {
    return gradients_ == nullptr ? nullptr : gradients_->begin_step();
  }
  // Returns true if the optimizer steps on this process's part of a sharded model.
  bool steps_on_shards() const { return gradients_ != nullptr && gradients_->are_shards(); }

  bool scales_losses() const { return scaler_ != nullptr; }
  // In fp16, unscales the gradients and returns true if all of them are finite. Without
  // fp16, returns true.
  bool may_step(const torch::optim::Optimizer& optimizer) const {
    return scaler_ == nullptr || scaler_->may_step(optimizer);
  }
  // Returns true if the last step that was due was skipped because gradients had overflowed.
  bool was_skipped(const torch::optim::Optimizer& optimizer) const {
    return scaler_ != nullptr && scaler_->step_was_skipped(optimizer);
  }

  // Ends the step after the optimizer has zeroed its gradients.
  void end() const {
    if (gradients_ != nullptr) gradients_->zeroed();
  }

 private:
  std::shared_ptr<const Accumulation> window_;
  std::shared_ptr<GradScaler> scaler_;
  std::shared_ptr<OptimizerGradients> gradients_;
};

}  // namespace accel::runtime
