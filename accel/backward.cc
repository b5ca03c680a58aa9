// The Accelerator's backward pass.
#include <algorithm>
#include <stdexcept>

#include "accel/accelerator.h"
#include "runtime/core/reached_models.h"
#include "runtime/error_text.h"
#include "runtime/parallel/model_tensors.h"
#include "runtime/parallel/uneven_inputs.h"

namespace accel {
namespace {

using Models = std::vector<std::shared_ptr<ParallelStrategy>>;

// Those that the loss depends on. Where models have parameters in common, that does not tell which
// one was called; what else of them it depends on does.
Models reached_from(const torch::Tensor& loss, const Models& prepared) {
  std::vector<std::vector<ParameterId>> parameters;
  for (const auto& model : prepared) {
    model->follow_changes();
    if (prepared.size() > 1) parameters.push_back(model->trained());
  }
  const std::vector<bool> sharing = sharing_models(parameters);
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    prepared[i]->set_shares_parameters(i < sharing.size() && sharing[i]);
  }
  Models reached;
  if (std::find(sharing.begin(), sharing.end(), true) != sharing.end()) {
    for (std::size_t i : reached_models(parameters, nodes_behind(loss))) {
      reached.push_back(prepared[i]);
    }
    std::erase_if(reached, [](const auto& model) { return model->is_paused(); });
    return reached;
  }
  for (const auto& model : prepared) {
    if (!model->is_paused() && model->reached_from(loss)) reached.push_back(model);
  }
  return reached;
}

// A rank whose loss depends on nothing of the model that it has called would leave the others alone
// in their pass.
torch::Tensor with_called(const torch::Tensor& loss, const Models& prepared, Models& reached) {
  torch::Tensor with = loss;
  for (const auto& model : prepared) {
    const torch::Tensor nothing = model->is_paused() ? torch::Tensor() : model->nothing();
    if (!nothing.defined()) continue;
    with = with + nothing.to(loss.options());
    reached.push_back(model);
  }
  return with;
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

void Accelerator::backward(const torch::Tensor& users_loss, const BackwardOptions& options) {
  expect_own_batch(users_loss);
  expect_autocast(users_loss);
  const Models prepared = state_->models.all();
  Models models = reached_from(users_loss, prepared);
  const torch::Tensor loss =
      models.empty() ? with_called(users_loss, prepared, models) : users_loss;
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
  const bool is_checked = !models.empty() && state_->uneven_inputs == nullptr;
  if (is_checked) parameter_check_->begin_pass(*state_->communicator);
  BackwardPassScope gradients(state_->gradients);
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
  if (is_checked) parameter_check_->end_pass();
}

}  // namespace accel
