// The types of prepared optimizers. Programs get them from Accelerator::prepare().
#pragma once

#include <concepts>
#include <memory>
#include <stdexcept>
#include <utility>

#include "runtime/optim/optimizer_access.h"
#include "runtime/step/optimizer_step.h"

namespace torch::optim {
class Optimizer;
}
namespace torch::serialize {
class InputArchive;
class OutputArchive;
}  // namespace torch::serialize

namespace accel {

// A prepared optimizer: a holder of any torch::optim optimizer. Copies are the same optimizer.
// `->` gives access to its parameter groups, state and so on. `*` is the torch::optim
// optimizer. The step() and zero_grad() of `*` bypass gradient accumulation, the loss scale and
// the checks. Not thread-safe.
template <typename Optim>
class Optimizer {
 public:
  // Makes an empty holder, for members that are assigned later. Methods throw std::logic_error.
  Optimizer() = default;
  // Called by Accelerator::prepare().
  Optimizer(std::shared_ptr<Optim> optimizer, runtime::OptimizerStep step)
      : optimizer_(std::move(optimizer)), step_(std::move(step)) {}
  // Converts to a holder of a base class. It is the same optimizer.
  template <std::derived_from<Optim> Derived>
  requires(!std::same_as<Derived, Optim>) Optimizer(const Optimizer<Derived>& other)
      : optimizer_(other.optimizer_), step_(other.step_) {}

  // Makes a step, as the optimizer's own step() does, with or without a closure. Does nothing and
  // returns an undefined tensor while gradients are accumulated, and in fp16 if a gradient is
  // infinite or NaN.
  //
  // Throws std::logic_error for a closure in fp16, because it would run after the
  // gradients are unscaled, and for a closure with a sharded model. Also throws it for
  // gradients that must not be stepped on, for example those of loss.backward() with
  // several processes (see OptimizerGradients::expect_ready()).
  template <typename... Args>
  auto step(Args&&... args) {
    using Loss = decltype(optimizer_->step(std::forward<Args>(args)...));
    expect_assigned();
    if (!step_.is_due()) return Loss();
    if constexpr (sizeof...(Args) == 1 &&
                  (std::constructible_from<typename Optim::LossClosure, Args> && ...)) {
      if (step_.steps_on_shards()) {
        throw std::logic_error(
            "step() takes no closure with a sharded model, which has either its parameters or the "
            "parts to step on: make the backward pass before step()");
      }
      if (!step_.scales_losses()) return optimizer_->step(checked(std::forward<Args>(args)...));
    }
    step_.expect_ready();
    if (step_.scales_losses() && sizeof...(Args) > 0) {
      throw std::logic_error("step() takes no closure with mixed_precision fp16: use bf16");
    }
    if (!step_.may_step(*optimizer_)) return Loss();
    const auto shards = step_.begin_step();
    return optimizer_->step(std::forward<Args>(args)...);
  }

  // Returns true if the last step() at the end of a window of accumulation was skipped because
  // gradients had overflowed.
  bool step_was_skipped() const { return step_.scales_losses() && step_.was_skipped(*optimizer_); }

  // Zeroes the gradients. Does nothing while gradients are accumulated.
  void zero_grad(bool set_to_none = true) {
    expect_assigned();
    if (!step_.is_due()) return;
    optimizer_->zero_grad(set_to_none);
    step_.end();
  }

  runtime::OptimizerAccess<Optim> operator->() const {
    expect_assigned();
    return runtime::OptimizerAccess<Optim>(optimizer_.get());
  }
  Optim& operator*() const {
    expect_assigned();
    return *optimizer_;
  }
  const std::shared_ptr<Optim>& ptr() const { return optimizer_; }

 private:
  template <typename Other>
  friend class Optimizer;

  // Returns a closure that calls `closure` and then checks the gradients, because the optimizer
  // steps on the gradients that its closure leaves.
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
  runtime::OptimizerStep step_;
};

// A prepared optimizer of any class. Every Optimizer<Optim> converts to it, so it is the type for
// members and function parameters. step() takes an optional closure. `->` gives access to the
// settings of each class, as in LibTorch.
using OptimizerRef = Optimizer<torch::optim::Optimizer>;

// Archives hold the torch::optim optimizer alone. They make torch::save(optimizer, file) and
// torch::load(optimizer, file) work.
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
