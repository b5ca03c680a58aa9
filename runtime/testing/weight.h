// The smallest model for tests of steps: one weight, whose gradient a test can choose.
#pragma once

#include "runtime/testing/training.h"

namespace accel::runtime {

// y = w * x, with w = 0 at first, so the gradient of w is x.
struct Weight : torch::nn::Module {
  torch::Tensor w = register_parameter("w", torch::zeros({1}));
  torch::Tensor forward(const torch::Tensor& x) { return w * x; }
};

inline torch::Tensor input(float x) { return torch::full({1}, x); }

}  // namespace accel::runtime
