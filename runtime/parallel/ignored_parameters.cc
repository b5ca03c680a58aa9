#include "runtime/parallel/ignored_parameters.h"

#include <utility>

#include "runtime/parallel/libtorch.h"

namespace accel::runtime {
namespace {

void add(const at::Tensor& from, at::Tensor& to) {
  if (to.defined()) {
    to.add_(from);
  } else {
    to = from;
  }
}

// Gradients have the strides of their parameter, and collectives need contiguous memory.
void reduce_to_mean(const at::Tensor& gradient, Communicator& world) {
  const at::Tensor flat = gradient.contiguous();
  world.all_reduce_sum(flat);
  flat.mul_(1.0 / world.size());
  if (!flat.is_same(gradient)) gradient.copy_(flat);
}

}  // namespace

IgnoredParameters::IgnoredParameters(std::vector<UnitParameter> parameters)
    : parameters_(std::move(parameters)), gradients_(parameters_.size()) {}

void IgnoredParameters::take_means() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    gradients_[i].mean = std::exchange(parameters_[i].tensor.mutable_grad(), {});
  }
}

void IgnoredParameters::give_means() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].tensor.mutable_grad() = std::exchange(gradients_[i].mean, {});
  }
}

void IgnoredParameters::keep_gradients() {
  const at::NoGradGuard no_graph;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor gradient = std::exchange(parameters_[i].tensor.mutable_grad(), {});
    if (!gradient.defined()) continue;
    add(gradient.is_sparse() ? gradient.to_dense() : gradient, gradients_[i].own);
  }
}

std::vector<bool> IgnoredParameters::has_gradients() const {
  std::vector<bool> has;
  for (const Gradient& one : gradients_) has.push_back(one.own.defined());
  return has;
}

void IgnoredParameters::reduce(const std::vector<bool>& has, Communicator& world) {
  const at::NoGradGuard no_graph;
  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    if (!has[i]) continue;
    at::Tensor gradient = std::exchange(gradients_[i].own, {});
    if (!gradient.defined()) gradient = at::zeros_like(parameters_[i].tensor.detach());
    reduce_to_mean(gradient, world);
    add(gradient, gradients_[i].mean);
  }
}

void IgnoredParameters::drop_gradients() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    gradients_[i] = {};
    parameters_[i].tensor.mutable_grad() = at::Tensor();
  }
}

}  // namespace accel::runtime
