// The Accelerator's backward pass.
#include <stdexcept>

#include "runtime/accelerator.h"
#include "runtime/error_text.h"
#include "runtime/parallel/uneven_inputs.h"

namespace accel {
namespace {

using Models = std::vector<std::shared_ptr<ParallelStrategy>>;

// Those whose gradients the pass reduces.
Models reached_from(const torch::Tensor& loss, PreparedModels& prepared) {
  Models reached;
  for (auto& model : prepared.all()) {
    model->follow_changes();
    if (!model->is_paused() && model->reached_from(loss)) reached.push_back(std::move(model));
  }
  return reached;
}

// In which gradients are reduced. If it fails, the models can make another one.
void reduced_pass(const Models& models, const torch::Tensor& loss,
                  const std::function<void()>& backward) {
  try {
    for (const auto& model : models) model->before_backward(loss);
    backward();
    for (const auto& model : models) model->after_backward(loss);
  } catch (...) {
    for (const auto& model : models) model->cancel_backward();
    throw;
  }
}

}  // namespace

void Accelerator::backward(const torch::Tensor& loss, const BackwardOptions& options) {
  expect_own_batch(loss);
  expect_autocast(loss);
  const Models models = reached_from(loss, state_->models);
  if (options.create_graph && !models.empty()) {
    throw std::invalid_argument(
        "backward: with several processes gradients are reduced, and have no graph that "
        "create_graph could make: take derivatives with torch::autograd::grad(), which may have "
        "one, and give backward() the loss that is made of them; or use no_sync()");
  }
  if (state_->uneven_inputs != nullptr && !models.empty()) {
    if (models.size() > 1) {
      throw std::logic_error("join_uneven_inputs: a loss may depend on one prepared model only");
    }
    state_->uneven_inputs->announce(*models.front());
  }
  for (const auto& model : models) model->agree_on_changes();
  // Ranks that have ended would not take part in it, nor would its count go on there.
  if (!models.empty() && state_->uneven_inputs == nullptr) {
    parameter_check_->begin_pass(*state_->communicator);
  }
  GradientPass gradients(state_->gradients);
  const int divisor = accumulation_->loss_divisor();
  const torch::Tensor share = scaled(divisor == 1 ? loss : loss / divisor,
                                     /*reduced=*/!use_distributed() || !models.empty());
  const auto backward = [&] {
    share.backward({}, options.retain_graph || options.create_graph, options.create_graph);
  };
  try {
    if (models.empty()) {
      backward();
    } else {
      state_->communicator->run_call("backward", [&] { reduced_pass(models, loss, backward); });
    }
  } catch (...) {
    rethrow_without_backtrace();
  }
  gradients.end(models);
}

}  // namespace accel
