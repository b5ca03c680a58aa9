#pragma once

#include <memory>
#include <utility>

namespace accel {

// A prepared optimizer: a holder of any torch::optim optimizer, which `->` reaches.
template <typename Optim>
class Optimizer {
 public:
  explicit Optimizer(std::shared_ptr<Optim> optimizer) : optimizer_(std::move(optimizer)) {}

  // As the optimizer's own step(), closures included.
  template <typename... Args>
  auto step(Args&&... args) {
    return optimizer_->step(std::forward<Args>(args)...);
  }

  void zero_grad(bool set_to_none = true) { optimizer_->zero_grad(set_to_none); }

  Optim* operator->() const { return optimizer_.get(); }
  Optim& operator*() const { return *optimizer_; }
  const std::shared_ptr<Optim>& ptr() const { return optimizer_; }

 private:
  std::shared_ptr<Optim> optimizer_;
};

}  // namespace accel
