// The Accelerator's gradient accumulation, and the gradients that optimizers step on.
#include <stdexcept>
#include <unordered_set>

#include "accel/accelerator.h"
#include "runtime/distinct.h"
#include "runtime/precision/autocast_use.h"

namespace accel {
namespace {

void add_parameters(const std::vector<torch::Tensor>& more, std::vector<torch::Tensor>& all) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

AccumulationScope Accelerator::begin_batch(
    std::vector<std::shared_ptr<torch::nn::Module>> modules,
    std::vector<std::shared_ptr<ParallelStrategy>> strategies) {
  const StepSamples* position = state_->loaders->current();
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
  auto batch =
      std::make_shared<OpenBatch>(accumulation_, std::move(modules), std::move(strategies));
  state_->open_batches.add(batch);
  return AccumulationScope(std::move(batch));
}

void Accelerator::set_sync_gradients(bool sync) {
  accumulation_->set_sync_gradients(sync);
  if (!sync) return;
  for (const auto& batch : state_->open_batches.of(*accumulation_)) batch->reduce();
}

// The loss would be divided by the steps of this one, and the optimizers follow the other.
void Accelerator::expect_own_batch(const torch::Tensor& loss) const {
  if (!state_->open_batches.of(*accumulation_).empty()) return;
  std::unordered_set<const void*> others;
  for (const auto& batch : state_->open_batches.of_others(*accumulation_)) {
    for (const auto& module : batch->modules()) {
      for (const torch::Tensor& parameter : module->parameters()) {
        others.insert(parameter.unsafeGetTensorImpl());
      }
    }
  }
  if (others.empty()) return;
  for (const UsedLeaf& used : leaves_behind(loss)) {
    if (!others.contains(used.leaf)) continue;
    throw std::logic_error(
        "backward: the loss is of a model whose batch was begun by accumulate() of another "
        "Accelerator: call backward() of that one, or accumulate() of this one");
  }
}

// Null where no gradient can be unfit for a step.
std::shared_ptr<OptimizerGradients> Accelerator::gradients_of(
    const std::shared_ptr<torch::optim::Optimizer>& optimizer) {
  if (!use_distributed() && scaler_ == nullptr) return nullptr;
  auto gradients = std::make_shared<OptimizerGradients>(
      optimizer, state_->gradients,
      OptimizerGradients::World{.is_alone = !use_distributed(),
                                .is_main = is_main_process(),
                                .scales_losses = scaler_ != nullptr,
                                .models = [state = state_] { return state->models.all(); }});
  state_->gradients->optimizers.push_back(gradients);
  if (scaler_ != nullptr) scaler_->add(optimizer, gradients);
  return gradients;
}

}  // namespace accel
