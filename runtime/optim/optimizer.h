#pragma once

#include <memory>
#include <utility>

#include "runtime/core/accumulation.h"

namespace accel {

// A prepared optimizer: a holder of any torch::optim optimizer, which `->` reaches. Copies are the
// same optimizer.
template <typename Optim>
class Optimizer {
 public:
  Optimizer(std::shared_ptr<Optim> optimizer, std::shared_ptr<const Accumulation> accumulation)
      : optimizer_(std::move(optimizer)), accumulation_(std::move(accumulation)) {}

  // As the optimizer's own step(), closures included. Nothing, and an undefined tensor, while
  // gradients are accumulated.
  template <typename... Args>
  auto step(Args&&... args) {
    using Loss = decltype(optimizer_->step(std::forward<Args>(args)...));
    if (!accumulation_->sync_gradients()) return Loss();
    return optimizer_->step(std::forward<Args>(args)...);
  }

  // Nothing while gradients are accumulated.
  void zero_grad(bool set_to_none = true) {
    if (accumulation_->sync_gradients()) optimizer_->zero_grad(set_to_none);
  }

  Optim* operator->() const { return optimizer_.get(); }
  Optim& operator*() const { return *optimizer_; }
  const std::shared_ptr<Optim>& ptr() const { return optimizer_; }

 private:
  std::shared_ptr<Optim> optimizer_;
  std::shared_ptr<const Accumulation> accumulation_;
};

}  // namespace accel
