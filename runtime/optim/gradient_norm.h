// Clipping of gradients in a few launches, without a wait for the GPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace accel::runtime {

// The gradients of which each rank has only a piece. `reduce` adds a number up over the ranks that
// have the pieces, or takes its maximum. If there are such gradients, all ranks must call
// clip_gradient_norm() with the same parameters.
struct GradientPieces {
  std::function<bool(const at::Tensor& parameter)> contain;
  std::function<void(at::Tensor& number, bool is_maximum)> reduce;
};

// Scales the gradients of `parameters`, each given once, down to a total norm of `max_norm`.
// Returns the norm before, as a 0-dim tensor on the gradients' device. Reading the tensor waits
// for the device. The norm is zero without gradients. If it is not finite, the gradients become
// NaN or zero.
//
// Computes what torch::nn::utils::clip_grad_norm_() computes, except for rounding. Norms of 16-bit
// gradients are computed in fp32.
at::Tensor clip_gradient_norm(const std::vector<at::Tensor>& parameters, double max_norm,
                              double norm_type, const GradientPieces& pieces = {});

}  // namespace accel::runtime
