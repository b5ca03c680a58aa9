// The Accelerator's gradient accumulation.
#include "runtime/accelerator.h"
#include "runtime/distinct.h"

namespace accel {

SyncScope Accelerator::begin_step(const std::vector<std::shared_ptr<torch::nn::Module>>& modules,
                                  std::vector<std::shared_ptr<ParallelStrategy>> strategies) {
  const LoaderPosition* position = state_->loaders->current();
  accumulation_->begin(position != nullptr && position->end_of_dataloader);
  if (const double scale = accumulation_->earlier_scale(); scale != 1) {
    std::vector<torch::Tensor> parameters;
    for (const auto& module : modules) {
      for (const torch::Tensor& one : module->parameters()) parameters.push_back(one);
    }
    for (const torch::Tensor& parameter : distinct(parameters)) {
      if (parameter.grad().defined()) parameter.grad().detach().mul_(scale);
    }
  }
  if (accumulation_->reduces()) strategies.clear();
  return SyncScope(std::move(strategies));
}

}  // namespace accel
