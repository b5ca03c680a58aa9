// The Accelerator's gradient accumulation.
#include "runtime/accelerator.h"
#include "runtime/distinct.h"

namespace accel {
namespace {

void add_parameters(const std::vector<torch::Tensor>& more, std::vector<torch::Tensor>& all) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

SyncScope Accelerator::begin_step(const std::vector<std::shared_ptr<torch::nn::Module>>& modules,
                                  std::vector<std::shared_ptr<ParallelStrategy>> strategies) {
  const LoaderPosition* position = state_->loaders->current();
  AccumulatedBatch begun{.end_of_dataloader = position != nullptr && position->end_of_dataloader,
                         .loader_step = state_->loaders->current_step()};
  for (const auto& module : modules) begun.models.push_back(module.get());
  accumulation_->begin(begun);
  if (const double scale = accumulation_->earlier_scale(); scale != 1) {
    // Losses are divided alike for all models, whichever are named.
    std::vector<torch::Tensor> parameters;
    for (const auto& module : modules) add_parameters(module->parameters(), parameters);
    for (const auto& optimizer : checkpointer_->optimizers()) {
      for (const auto& group : optimizer->param_groups())
        add_parameters(group.params(), parameters);
    }
    for (const torch::Tensor& parameter : distinct(parameters)) {
      if (parameter.grad().defined()) parameter.grad().detach().mul_(scale);
    }
  }
  if (accumulation_->reduces()) strategies.clear();
  return SyncScope(std::move(strategies));
}

}  // namespace accel
