#pragma once

#include <concepts>
#include <memory>
#include <stdexcept>
#include <utility>

#include "runtime/optim/optimizer_access.h"
#include "runtime/step/optimizer_step.h"

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
  // Made by Accelerator::prepare().
  Optimizer(std::shared_ptr<Optim> optimizer, OptimizerStep step)
      : optimizer_(std::move(optimizer)), step_(std::move(step)) {}

  // Steps as the optimizer's own step() does, closures included. Does nothing, and returns an
  // undefined tensor, while gradients are accumulated, and in fp16 if a gradient is infinite or not
  // a number. Throws std::logic_error for a closure in fp16, because it would run after the
  // gradients were unscaled; and for gradients that are not fit for a step, such as those of
  // loss.backward() with several processes (see OptimizerGradients::expect_ready()).
  template <typename... Args>
  auto step(Args&&... args) {
    using Loss = decltype(optimizer_->step(std::forward<Args>(args)...));
    expect_assigned();
    if (!step_.is_due()) return Loss();
    if constexpr (sizeof...(Args) == 1 &&
                  (std::constructible_from<typename Optim::LossClosure, Args> && ...)) {
      if (!step_.scales_losses()) return optimizer_->step(checked(std::forward<Args>(args)...));
    }
    step_.expect_ready();
    if (step_.scales_losses() && sizeof...(Args) > 0) {
      throw std::logic_error("step() takes no closure with mixed_precision fp16: use bf16");
    }
    if (!step_.may_step(*optimizer_)) return Loss();
    return optimizer_->step(std::forward<Args>(args)...);
  }

  // Whether the last step() that was due did nothing because gradients had overflowed.
  bool step_was_skipped() const { return step_.scales_losses() && step_.was_skipped(*optimizer_); }

  // Zeroes the gradients. Does nothing while gradients are accumulated.
  void zero_grad(bool set_to_none = true) {
    expect_assigned();
    if (!step_.is_due()) return;
    optimizer_->zero_grad(set_to_none);
    step_.end();
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
  // An optimizer steps on the gradients that its closure leaves, so they are checked after it.
  auto checked(typename Optim::LossClosure closure) const {
    if (closure == nullptr) {
      step_.expect_ready();
      return closure;
    }
    return typename Optim::LossClosure([this, closure = std::move(closure)] {
      auto loss = closure();
      step_.expect_ready();
      return loss;
    });
  }

  void expect_assigned() const {
    if (optimizer_ == nullptr) {
      throw std::logic_error("this optimizer is empty: assign what prepare() returns first");
    }
  }

  std::shared_ptr<Optim> optimizer_;
  OptimizerStep step_;
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
