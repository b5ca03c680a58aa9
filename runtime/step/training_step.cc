// How the gradients that an optimizer steps on become the mean over all ranks.
//
// A prepared model has a copy on every rank, or is sharded over the ranks. Copies remain equal
// because every optimizer step is made on the same gradients. Three things stand between a program
// and that mean, and this file brings them together.
//
// clang-format off
// - Accumulation. In a window of N batches only the last backward pass needs to reduce, because a
//   sum of means is the mean of sums. begin_batch() asks the window (core/accumulation.h) whether
//   the batch ends it. If not, a GradientSyncScope marks the models, and models_to_reduce() leaves
//   out the marked models. no_sync() and LocalSgd mark models in the same way. Models that the loss
//   does not reach are left out, too. Sharded models are reduced in each pass outside of no_sync().
// - Precision. In fp16 the loss is multiplied by a scale before the pass, and the gradients are
//   divided by that scale before the step (docs/decisions/0018). All gradients of a window must
//   have the same scale, because they are added up. So each batch takes the scale that the window
//   will have at its end.
// - Ranks that differ. A rank may have changed its model, have no path from its loss to the model,
//   or have run out of batches. Reducing is collective, so a rank that does not take part leaves
//   the others waiting. agree() and touch_called_models() settle this before the pass begins. After
//   that every rank makes the same calls.
// clang-format on
//
// An example, with a window of two batches on two ranks:
//
// clang-format off
//             accumulate()        backward()                        step()             zero_grad()
//   batch 1   window open         loss / 2; gradients stay local    nothing            nothing
//   batch 2   window ends         loss / 2; sum of both batches,    steps on the mean  zeroes
//                                 all-reduced while the pass runs
// clang-format on
//
// A pass that throws leaves gradients that are partly local and partly reduced. BackwardPassScope
// marks them (optim/gradient_origin.h), and the optimizer refuses to step until they are zeroed.
#include "runtime/step/training_step.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "runtime/checkpoint/copy_progress.h"
#include "runtime/checkpoint/run_state.h"
#include "runtime/comm/progress_beat.h"
#include "runtime/distinct.h"
#include "runtime/error_text.h"
#include "runtime/optim/gradient_norm.h"
#include "runtime/parallel/uneven_inputs.h"
#include "runtime/step/libtorch.h"
#include "runtime/step/loss_checks.h"
#include "runtime/step/loss_graph.h"
#include "runtime/step/uneven_join.h"

namespace accel::runtime {
namespace {

void add_parameters(const std::vector<at::Tensor>& more, std::vector<at::Tensor>& all) {
  all.insert(all.end(), more.begin(), more.end());
}

// Makes the pass while the models reduce their gradients. If the pass fails, resets the models, so
// that they can make a new pass.
void reduce_during(const std::function<void()>& pass, const Strategies& models,
                   const at::Tensor& loss) {
  try {
    for (const auto& model : models) model->before_backward(loss);
    pass();
    for (const auto& model : models) model->after_backward(loss);
  } catch (...) {
    for (const auto& model : models) model->cancel_backward();
    throw;
  }
}

bool is_any_sharded(const Strategies& models) {
  return std::any_of(models.begin(), models.end(),
                     [](const auto& model) { return model->is_sharded(); });
}

}  // namespace

TrainingStep::TrainingStep(std::shared_ptr<ProcessState> process, const AcceleratorOptions& options,
                           RunState& run)
    : process_(std::move(process)),
      run_(run),
      precision_(options.mixed_precision),
      static_graph_(options.data_parallel.static_graph),
      // The deleter holds the process. Optimizers hold the window, so they keep the world alive, as
      // all prepared objects do (docs/decisions/0025).
      window_(new Accumulation(options.gradient_accumulation),
              [process = process_](Accumulation* window) { delete window; }),
      parameter_check_(options.parameter_check, options.debug) {
  if (precision_ == MixedPrecision::kFp16) {
    scaler_ = std::make_shared<GradScaler>(options.loss_scaling);
    scaler_->set_agreement([process = process_.get()](bool overflowed) {
      if (!is_any_sharded(process->models.all())) return overflowed;
      const auto all = process->communicator->all_gather_number(overflowed);
      return std::count(all.begin(), all.end(), 0) < static_cast<std::ptrdiff_t>(all.size());
    });
  }
}

void TrainingStep::add_model(const std::shared_ptr<ParallelStrategy>& strategy) {
  parameter_check_.add_model(strategy->module(), strategy);
}

OptimizerStep TrainingStep::add_optimizer(
    const std::shared_ptr<torch::optim::Optimizer>& optimizer) {
  parameter_check_.add_optimizer(optimizer);
  // One process without a loss scale never has to skip a step, so nothing needs to be checked.
  if (!is_distributed() && scaler_ == nullptr) return {window_, nullptr, nullptr};
  auto gradients = std::make_shared<OptimizerGradients>(
      optimizer, process_->gradients,
      OptimizerGradients::World{.is_alone = !is_distributed(),
                                .is_main = process_->environment.rank == 0,
                                .scales_losses = scaler_ != nullptr,
                                .models = [process = process_] { return process->models.all(); }});
  process_->gradients->optimizers.push_back(gradients);
  if (scaler_ != nullptr) scaler_->add(optimizer, gradients);
  return {window_, scaler_, std::move(gradients)};
}

void TrainingStep::clear() {
  parameter_check_.clear();
  if (scaler_ != nullptr) scaler_->clear();
  window_->set_state({});
}

AccumulationScope TrainingStep::begin_batch(Modules modules, Strategies strategies) {
  const StepSamples* position = process_->loaders->current();
  AccumulatedBatch begun{.end_of_dataloader = position != nullptr && position->end_of_dataloader,
                         .loader_step = process_->loaders->current_step()};
  for (const auto& module : modules) begun.models.push_back(module.get());
  window_->begin(begun);
  if (const double scale = window_->earlier_scale(); scale != 1) {
    // Losses of all models have the same divisor, so the gradients of all models are scaled, not
    // only of those in `modules`.
    std::vector<at::Tensor> parameters;
    for (const auto& module : modules) add_parameters(module->parameters(), parameters);
    for (const auto& optimizer : run_.optimizers()) {
      for (const auto& group : optimizer->param_groups()) {
        add_parameters(group.params(), parameters);
      }
    }
    for (const at::Tensor& parameter : distinct(parameters)) {
      if (parameter.grad().defined()) parameter.grad().detach().mul_(scale);
    }
  }
  if (window_->reduces()) strategies.clear();
  // Marks the remaining strategies, so that models_to_reduce() leaves them out.
  auto batch = std::make_shared<OpenBatch>(window_, std::move(modules), std::move(strategies));
  process_->open_batches.add(batch);
  return AccumulationScope(std::move(batch));
}

void TrainingStep::set_sync_gradients(bool sync) {
  window_->set_sync_gradients(sync);
  if (!sync) return;
  for (const auto& batch : process_->open_batches.of(*window_)) batch->reduce();
}

void TrainingStep::check_loss(const at::Tensor& loss) const {
  expect_own_batch(loss, process_->open_batches, *window_);
  if (precision_ != MixedPrecision::kNo) expect_autocast(loss, run_.models());
}

// Returns the models that the loss depends on. Leaves out models whose gradients accumulate(),
// no_sync() or LocalSgd keeps local.
Strategies TrainingStep::models_to_reduce(const at::Tensor& loss) const {
  const Strategies prepared = process_->models.all();
  const LossGraph graph(loss, prepared);
  Strategies reduced;
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    if (prepared[i]->keeps_gradients_local()) continue;
    if (graph.reaches(i)) reduced.push_back(prepared[i]);
  }
  return reduced;
}

// Adds the models that were called to `reduced`, and returns a loss that depends on them with a
// gradient of zero. Otherwise, if a rank has called a model, but its loss does not depend on it,
// the other ranks would wait for this rank.
at::Tensor TrainingStep::touch_called_models(const at::Tensor& loss, Strategies& reduced) const {
  at::Tensor with = loss;
  for (const auto& model : process_->models.all()) {
    const at::Tensor zero = model->keeps_gradients_local() ? at::Tensor() : model->zero_loss();
    if (!zero.defined()) continue;
    with = with + zero.to(loss.options());
    reduced.push_back(model);
  }
  return with;
}

// Before the pass, makes sure that all ranks will reduce the same gradients.
void TrainingStep::agree(const Strategies& reduced) {
  if (process_->uneven_inputs != nullptr && !reduced.empty()) {
    if (reduced.size() > 1) {
      throw std::logic_error("join_uneven_inputs: a loss may depend on one prepared model only");
    }
    process_->uneven_inputs->announce(*reduced.front());
  }
  for (const auto& model : reduced) model->agree_on_changes();
}

// The gradients of a batch inside a window are reduced at the end of the window. So the loss of the
// batch gets the scale that the window will have at its end.
at::Tensor TrainingStep::scale(const at::Tensor& loss, bool is_reduced) {
  if (scaler_ == nullptr) return loss;
  const bool is_open = !process_->open_batches.of(*window_).empty();
  const bool will_be_reduced = is_reduced || (is_open && !window_->reduces());
  return scaler_->scale(loss,
                        {.is_own = is_distributed() && !will_be_reduced,
                         .batch = is_open ? std::optional(window_->batches()) : std::nullopt});
}

void TrainingStep::reduce_in_calls(const std::function<void()>& pass, const Strategies& reduced,
                                   const at::Tensor& loss) {
  const auto reduce = [&] { reduce_during(pass, reduced, loss); };
  if (!is_any_sharded(reduced)) return process_->communicator->run_call("backward", reduce);
  // The collectives of a sharded model are calls by themselves, which name its units.
  const OperationScope operation(process_->communicator.get(), "backward");
  reduce();
}

void TrainingStep::backward(const at::Tensor& users_loss, const BackwardOptions& options) {
  check_loss(users_loss);
  Strategies reduced = models_to_reduce(users_loss);
  const at::Tensor loss = reduced.empty() ? touch_called_models(users_loss, reduced) : users_loss;
  if (options.create_graph && !reduced.empty()) {
    throw std::invalid_argument(
        "backward: create_graph is not possible with several processes, because reduced gradients "
        "have no graph: take derivatives with torch::autograd::grad(), which can create one, and "
        "give backward() the loss that is computed from them; or use no_sync()");
  }
  agree(reduced);
  // Not checked inside join_uneven_inputs(), because ranks that have ended would not take part in
  // the check, and would not count the pass.
  const bool is_checked = !reduced.empty() && process_->uneven_inputs == nullptr;
  if (is_checked) parameter_check_.begin_pass(*process_->communicator);
  BackwardPassScope gradients(process_->gradients);
  const int divisor = window_->loss_divisor();
  const at::Tensor share = scale(divisor == 1 ? loss : loss / divisor,
                                 /*is_reduced=*/!is_distributed() || !reduced.empty());
  const auto pass = [&] {
    share.backward({}, options.retain_graph || options.create_graph, options.create_graph);
  };
  try {
    if (reduced.empty()) {
      pass();
    } else {
      reduce_in_calls(pass, reduced, loss);
    }
  } catch (...) {
    rethrow_without_backtrace();
  }
  gradients.end(reduced, /*divides_loss=*/divisor != 1);
  if (is_checked) parameter_check_.end_pass();
  ProgressBeat::of_process().step();
}

GradScaler* TrainingStep::unscaling() const {
  if (scaler_ != nullptr && !sync_gradients()) {
    throw std::logic_error(
        "fp16 gradients cannot be unscaled or clipped while they are accumulated: do so only if "
        "accelerator.sync_gradients()");
  }
  return scaler_.get();
}

void TrainingStep::unscale() {
  if (GradScaler* scaler = unscaling()) scaler->unscale_all();
}

void TrainingStep::unscale(const torch::optim::Optimizer& optimizer) {
  if (GradScaler* scaler = unscaling()) scaler->unscale(optimizer);
}

at::Tensor TrainingStep::clip_grad_norm(const std::vector<at::Tensor>& parameters, double max_norm,
                                        double norm_type) {
  if (GradScaler* scaler = unscaling()) scaler->unscale_owners(parameters);
  const std::vector<at::Tensor> once = distinct(parameters);
  return clip_gradient_norm(once, max_norm, norm_type, gradient_pieces(once));
}

// The parameters of sharded models are the same on all ranks, with or without gradients.
GradientPieces TrainingStep::gradient_pieces(const std::vector<at::Tensor>& parameters) const {
  std::unordered_set<const void*> sharded;
  Communicator* group = nullptr;
  for (const auto& model : process_->models.all()) {
    if (model->shard_group() == nullptr) continue;
    group = model->shard_group();
    for (const void* parameter : model->sharded()) sharded.insert(parameter);
  }
  if (group == nullptr) return {};
  return {
      .contain =
          [sharded](const at::Tensor& one) { return sharded.contains(one.unsafeGetTensorImpl()); },
      .reduce =
          [group](at::Tensor& number, bool is_maximum) {
            is_maximum ? group->all_reduce_max(number) : group->all_reduce_sum(number);
          }};
}

void TrainingStep::clip_grad_value(const std::vector<at::Tensor>& parameters, double clip_value) {
  if (GradScaler* scaler = unscaling()) scaler->unscale_owners(parameters);
  torch::nn::utils::clip_grad_value_(parameters, clip_value);
}

void TrainingStep::prepare_save() {
  if (scaler_ != nullptr && !sync_gradients()) scaler_->settle();
  if (is_distributed()) parameter_check_.begin_save(*process_->communicator);
}

void TrainingStep::join_uneven_inputs(const std::function<void()>& body,
                                      const JoinOptions& options) {
  if (!is_distributed()) return body();
  if (static_graph_) {
    throw std::invalid_argument(
        "join_uneven_inputs: a process that has ended does not use its parameters as often as a "
        "static_graph says");
  }
  const std::optional<int> last = run_uneven(*process_, body, options);
  if (last) copy_progress(*last, run_, *process_);
}

}  // namespace accel::runtime
