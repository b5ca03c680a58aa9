#include "runtime/optim/gradient_norm.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Device.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace accel::runtime {
namespace {

using Tensors = std::vector<at::Tensor>;
using Key = std::tuple<at::ScalarType, c10::DeviceType, c10::DeviceIndex>;

// Returns the dense values of each gradient, grouped by dtype and device, because operators
// of lists of tensors are fast within such a group. The values of a sparse gradient are those
// of distinct rows.
std::map<Key, Tensors> gradients_of(const Tensors& parameters) {
  std::map<Key, Tensors> all;
  for (const at::Tensor& parameter : parameters) {
    at::Tensor& gradient = parameter.mutable_grad();
    if (!gradient.defined() || gradient.numel() == 0) continue;
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

at::Tensor norm_of(const Tensors& parameters, double norm_type, const c10::Device& device) {
  Tensors norms;
  for (const auto& [key, gradients] : gradients_of(parameters)) {
    for (const at::Tensor& norm :
         at::_foreach_norm(gradients, norm_type, wider(std::get<at::ScalarType>(key)))) {
      norms.push_back(moved(norm, device));
    }
  }
  if (norms.empty()) return at::zeros({}, device);
  // stack() takes the widest dtype.
  return at::linalg_vector_norm(at::stack(norms), norm_type);
}

// Combines the norm of whole gradients with the norms of the ranks' pieces. `mine` is the norm of
// this rank's pieces.
at::Tensor with_pieces(const at::Tensor& whole, const at::Tensor& mine, double norm_type,
                       const GradientPieces& pieces) {
  const bool is_maximum = std::isinf(norm_type);
  at::Tensor number = is_maximum ? mine.clone() : mine.pow(norm_type);
  pieces.reduce(number, is_maximum);
  return is_maximum ? at::maximum(whole, number)
                    : number.add(whole.pow(norm_type)).pow(1 / norm_type);
}

}  // namespace

at::Tensor clip_gradient_norm(const Tensors& given, double max_norm, double norm_type,
                              const GradientPieces& pieces) {
  Tensors parameters = given;
  const at::NoGradGuard no_grad;
  const std::map<Key, Tensors> all = gradients_of(parameters);
  const c10::Device device = parameters.empty() ? c10::Device(at::kCPU) : parameters[0].device();
  const auto middle =
      std::stable_partition(parameters.begin(), parameters.end(), [&](const at::Tensor& parameter) {
        return pieces.contain == nullptr || !pieces.contain(parameter);
      });
  at::Tensor norm = norm_of({parameters.begin(), middle}, norm_type, device);
  if (middle != parameters.end()) {
    norm = with_pieces(norm, norm_of({middle, parameters.end()}, norm_type, device), norm_type,
                       pieces);
  }
  const at::Tensor factor = norm.add(1e-6).reciprocal().mul(max_norm).clamp_max(1);
  for (const auto& [key, gradients] : all) {
    const at::Tensor& first = gradients.front();
    at::_foreach_mul_(gradients, moved(factor, first.device()).to(first.scalar_type()));
  }
  return norm;
}

}  // namespace accel::runtime
