// Optimizers that step with LibTorch's fused kernels. A step is one launch for many parameters on a
// GPU, and vectorized loops on a CPU. torch::optim launches about ten operators for each parameter.
//
// Each class derives from LibTorch's class of the same name, and has the same options, parameter
// groups, state and archives. So each of the two can load a file or a checkpoint that the other
// wrote. Results differ in rounding only.
//
//   auto optimizer = accelerator.prepare(
//       accel::optim::AdamW(net->parameters(), torch::optim::AdamWOptions(1e-3)));
//
// A step is LibTorch's own if a gradient is sparse or complex, or if a gradient or moment has
// another dtype or memory layout than its parameter. It is also LibTorch's own if a parameter is
// not dense in memory, or is neither on a CPU nor on a CUDA device.
#pragma once

#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

namespace accel::optim {

class Adam : public torch::optim::Adam {
 public:
  using torch::optim::Adam::Adam;
  torch::Tensor step(LossClosure closure = nullptr) override;
};

class AdamW : public torch::optim::AdamW {
 public:
  using torch::optim::AdamW::AdamW;
  torch::Tensor step(LossClosure closure = nullptr) override;
};

class SGD : public torch::optim::SGD {
 public:
  using torch::optim::SGD::SGD;
  torch::Tensor step(LossClosure closure = nullptr) override;
};

}  // namespace accel::optim
