#pragma once

#include <concepts>
#include <memory>
#include <stdexcept>
#include <utility>

#include "runtime/core/accumulation.h"
#include "runtime/optim/gradient_origin.h"
#include "runtime/optim/optimizer_access.h"
#include "runtime/precision/grad_scaler.h"

namespace torch::serialize {
class InputArchive;
class OutputArchive;
}  // namespace torch::serialize

namespace accel {

// A prepared optimizer: a holder of any torch::optim optimizer. `->` reaches its parameter groups,
// its state and the like, `*` the optimizer itself, whose own step() and zero_grad() know nothing
// of what follows. Copies are the same optimizer.
template <typename Optim>
class Optimizer {
 public:
  // No optimizer yet, for members that are assigned later. Throws std::logic_error where it is
  // used.
  Optimizer() = default;
  // `scaler` is null where losses are not scaled, `gradients` where all gradients are good to step
  // on.
  Optimizer(std::shared_ptr<Optim> optimizer, std::shared_ptr<const Accumulation> accumulation,
            std::shared_ptr<GradScaler> scaler, std::shared_ptr<OptimizerGradients> gradients)
      : optimizer_(std::move(optimizer)),
        accumulation_(std::move(accumulation)),
        scaler_(std::move(scaler)),
        gradients_(std::move(gradients)) {}

  // As the optimizer's own step(), closures included. Nothing, and an undefined tensor, while
  // gradients are accumulated, and in fp16 if a gradient is infinite or not a number. Throws
  // std::logic_error for a closure in fp16: it would run after the gradients were unscaled; and
  // for gradients that are not fit for a step, as OptimizerGradients::expect_ready() has them, such
  // as those of loss.backward() with several processes.
  template <typename... Args>
  auto step(Args&&... args) {
    using Loss = decltype(optimizer_->step(std::forward<Args>(args)...));
    expect_assigned();
    if (!accumulation_->sync_gradients()) return Loss();
    if constexpr (sizeof...(Args) == 1 &&
                  (std::constructible_from<typename Optim::LossClosure, Args> && ...)) {
      if (gradients_ != nullptr && scaler_ == nullptr) {
        return optimizer_->step(checked(std::forward<Args>(args)...));
      }
    }
    if (gradients_ != nullptr) gradients_->expect_ready(accumulation_->is_forced());
    if (scaler_ != nullptr) {
      if (sizeof...(Args) > 0) {
        throw std::logic_error("step() takes no closure with mixed_precision fp16: use bf16");
      }
      if (!scaler_->may_step(*optimizer_)) return Loss();
    }
    return optimizer_->step(std::forward<Args>(args)...);
  }

  // Whether the last step() that was due did nothing because gradients had overflowed.
  bool step_was_skipped() const {
    return scaler_ != nullptr && scaler_->step_was_skipped(*optimizer_);
  }

  // Nothing while gradients are accumulated.
  void zero_grad(bool set_to_none = true) {
    expect_assigned();
    if (!accumulation_->sync_gradients()) return;
    optimizer_->zero_grad(set_to_none);
    if (gradients_ != nullptr) gradients_->zeroed();
  }

  OptimizerAccess<Optim> operator->() const {
    expect_assigned();
    return OptimizerAccess<Optim>(optimizer_.get());
  }
  Optim& operator*() const {
    expect_assigned();
    return *optimizer_;
  }
  const std::shared_ptr<Optim>& ptr() const { return optimizer_; }

 private:
  // The gradients that an optimizer steps on are those that its closure leaves.
  auto checked(typename Optim::LossClosure closure) const {
    if (closure == nullptr) {
      gradients_->expect_ready(accumulation_->is_forced());
      return closure;
    }
    return typename Optim::LossClosure([this, closure = std::move(closure)] {
      auto loss = closure();
      gradients_->expect_ready(accumulation_->is_forced());
      return loss;
    });
  }

  void expect_assigned() const {
    if (optimizer_ == nullptr) {
      throw std::logic_error("this optimizer is empty: assign what prepare() returns first");
    }
  }

  std::shared_ptr<Optim> optimizer_;
  std::shared_ptr<const Accumulation> accumulation_;
  std::shared_ptr<GradScaler> scaler_;
  std::shared_ptr<OptimizerGradients> gradients_;
};

// The optimizer alone, so that torch::save(optimizer, file) and torch::load(optimizer, file) work.
template <typename Optim>
torch::serialize::OutputArchive& operator<<(torch::serialize::OutputArchive& archive,
                                            const Optimizer<Optim>& optimizer) {
  return archive << *optimizer;
}
template <typename Optim>
torch::serialize::InputArchive& operator>>(torch::serialize::InputArchive& archive,
                                           Optimizer<Optim>& optimizer) {
  return archive >> *optimizer;
}

}  // namespace accel
