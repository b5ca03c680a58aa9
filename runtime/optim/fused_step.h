// A step of LibTorch's optimizers with LibTorch's fused kernels, which LibTorch itself uses from
// Python only.
#pragma once

namespace torch::optim {
class Adam;
class AdamW;
class SGD;
}  // namespace torch::optim

namespace accel::runtime {

// Make the step that the optimizer's step() makes, except for rounding, and leave the same state.
// Return false, and change nothing, if there is no fused kernel for one of the gradients.
// accel/optim.h has the conditions. The host does not wait for a GPU.
bool fused_step(torch::optim::Adam& optimizer);
bool fused_step(torch::optim::AdamW& optimizer);
bool fused_step(torch::optim::SGD& optimizer);

}  // namespace accel::runtime
