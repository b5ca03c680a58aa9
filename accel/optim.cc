#include "accel/optim.h"

#include <torch/types.h>

#include "runtime/optim/fused_step.h"

namespace accel::optim {
namespace {

template <typename Base, typename Optim>
torch::Tensor step_with(Optim& optimizer, const torch::optim::Optimizer::LossClosure& closure) {
  torch::Tensor loss;
  if (closure != nullptr) {
    const torch::AutoGradMode with_grad(true);
    loss = closure();
  }
  if (!runtime::fused_step(optimizer)) optimizer.Base::step(nullptr);
  return loss;
}

}  // namespace

torch::Tensor Adam::step(LossClosure closure) {
  return step_with<torch::optim::Adam>(*this, closure);
}

torch::Tensor AdamW::step(LossClosure closure) {
  return step_with<torch::optim::AdamW>(*this, closure);
}

torch::Tensor SGD::step(LossClosure closure) {
  return step_with<torch::optim::SGD>(*this, closure);
}

}  // namespace accel::optim
