#include "runtime/optim/gradient_norm.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Device.h>

#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace accel::runtime {
namespace {

using Tensors = std::vector<at::Tensor>;
using Key = std::tuple<at::ScalarType, c10::DeviceType, c10::DeviceIndex>;

// Returns the dense values of each gradient, by dtype and device, in which the operators of lists
// of tensors are fast. The values of a sparse gradient are those of distinct rows.
std::map<Key, Tensors> gradients_of(const Tensors& parameters) {
  std::map<Key, Tensors> all;
  for (const at::Tensor& parameter : parameters) {
    at::Tensor& gradient = parameter.mutable_grad();
    if (!gradient.defined()) continue;
    if (gradient.is_sparse() && !gradient.is_coalesced()) gradient = gradient.coalesce();
    const at::Tensor values = (gradient.is_sparse() ? gradient._values() : gradient).detach();
    all[{values.scalar_type(), values.device().type(), values.device().index()}].push_back(values);
  }
  return all;
}

std::optional<at::ScalarType> wider(at::ScalarType dtype) {
  if (dtype == at::kHalf || dtype == at::kBFloat16) return at::kFloat;
  return std::nullopt;
}

// Copies without waiting for a GPU, except to the host, which reads the copy immediately.
at::Tensor moved(const at::Tensor& tensor, const c10::Device& device) {
  return tensor.to(device, /*non_blocking=*/!device.is_cpu());
}

}  // namespace

at::Tensor clip_gradient_norm(const Tensors& parameters, double max_norm, double norm_type) {
  const at::NoGradGuard no_grad;
  const std::map<Key, Tensors> all = gradients_of(parameters);
  if (all.empty()) {
    return at::zeros({}, parameters.empty() ? at::TensorOptions() : parameters[0].device());
  }
  const c10::Device device = all.begin()->second.front().device();
  Tensors norms;
  for (const auto& [key, gradients] : all) {
    for (const at::Tensor& norm :
         at::_foreach_norm(gradients, norm_type, wider(std::get<at::ScalarType>(key)))) {
      norms.push_back(moved(norm, device));
    }
  }
  // stack() takes the widest dtype.
  const at::Tensor norm = at::linalg_vector_norm(at::stack(norms), norm_type);
  const at::Tensor factor = norm.add(1e-6).reciprocal().mul(max_norm).clamp_max(1);
  for (const auto& [key, gradients] : all) {
    const at::Tensor& first = gradients.front();
    at::_foreach_mul_(gradients, moved(factor, first.device()).to(first.scalar_type()));
  }
  return norm;
}

}  // namespace accel::runtime
