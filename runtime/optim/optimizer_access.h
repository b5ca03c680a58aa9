#pragma once

#include <utility>

namespace accel::runtime {

// The members of torch::optim::Optimizer that `->` of a prepared optimizer reaches. Members
// that the prepared optimizer replaces are left out. `*optimizer` gives access to members of
// a derived class.
template <typename Optim>
class OptimizerAccess {
 public:
  explicit OptimizerAccess(Optim* optimizer) : optimizer_(optimizer) {}

  // Deleted, because they would bypass gradient accumulation, the loss scale and the check
  // of the gradients.
  template <typename... Args>
  void step(Args&&...) const = delete;  // Write optimizer.step() instead of optimizer->step().
  template <typename... Args>
  void zero_grad(Args&&...) const = delete;  // Write optimizer.zero_grad(), with a dot.

  auto& param_groups() const { return optimizer_->param_groups(); }
  template <typename Group>
  void add_param_group(Group&& group) const {
    optimizer_->add_param_group(std::forward<Group>(group));
  }
  template <typename Parameters>
  void add_parameters(const Parameters& parameters) const {
    optimizer_->add_parameters(parameters);
  }
  auto& parameters() const { return optimizer_->parameters(); }
  auto& defaults() const { return optimizer_->defaults(); }
  auto& state() const { return optimizer_->state(); }
  auto size() const { return optimizer_->size(); }
  template <typename Archive>
  void save(Archive& archive) const {
    optimizer_->save(archive);
  }
  template <typename Archive>
  void load(Archive& archive) const {
    optimizer_->load(archive);
  }

  const OptimizerAccess* operator->() const { return this; }

 private:
  Optim* const optimizer_;
};

}  // namespace accel::runtime
