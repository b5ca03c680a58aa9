// One training step of an Accelerator, from accumulate() to zero_grad().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "accel/options.h"
#include "runtime/core/accumulation.h"
#include "runtime/optim/gradient_norm.h"
#include "runtime/parallel/parameter_check.h"
#include "runtime/precision/grad_scaler.h"
#include "runtime/process/process_state.h"
#include "runtime/step/accumulation_scope.h"
#include "runtime/step/optimizer_step.h"

namespace accel::runtime {

class RunState;

// The training steps of one Accelerator. The methods are in the order in which a program causes
// them in a step. Without begin_batch(), the step is a window of one batch. accel/accelerator.h
// says what each method throws. docs/life-of-a-step.md follows a step through the functions that
// are called below. Not thread-safe.
class TrainingStep {
 public:
  using Modules = std::vector<std::shared_ptr<torch::nn::Module>>;

  // `run` has the models, optimizers and schedulers of the Accelerator, and must
  // outlive this object.
  TrainingStep(std::shared_ptr<ProcessState> process, const AcceleratorOptions& options,
               RunState& run);

  // Add a model or an optimizer to the steps. A prepared optimizer uses the returned OptimizerStep
  // in its own step(). The OptimizerStep keeps the process's world alive.
  void add_model(const std::shared_ptr<ParallelStrategy>& strategy);
  OptimizerStep add_optimizer(const std::shared_ptr<torch::optim::Optimizer>& optimizer);
  // Forgets all models and optimizers, and the open window.
  void clear();

  // Step 1: begins a batch. The window of accumulation counts the batch, and decides whether it
  // ends the window. If it does not, backward() keeps the gradients of the models local while the
  // scope lives, except those of sharded models. If the batch ends a short window, existing
  // gradients are scaled up.
  [[nodiscard]] AccumulationScope begin_batch(Modules modules, Strategies strategies);
  bool sync_gradients() const { return window_->sync_gradients(); }
  void set_sync_gradients(bool sync);

  // Steps 2 and 3: make the backward pass, and reduce gradients while it runs.
  void backward(const at::Tensor& loss, const BackwardOptions& options);

  // Step 4. In fp16 all four methods divide gradients by the loss scale, once after each backward
  // pass. They divide the gradients of all optimizers, of one, or of those that have `parameters`.
  void unscale();
  void unscale(const torch::optim::Optimizer& optimizer);
  at::Tensor clip_grad_norm(const std::vector<at::Tensor>& parameters, double max_norm,
                            double norm_type);
  void clip_grad_value(const std::vector<at::Tensor>& parameters, double clip_value);

  // Steps 5 and 6, the optimizer's step() and zero_grad(), are in OptimizerStep.

  // Returns true if any optimizer skipped its last step.
  bool was_skipped() const { return scaler_ != nullptr && scaler_->any_step_was_skipped(); }

  // Prepares a save, and compares the ranks' parameters. Call it between two steps. In fp16, brings
  // gradients to the scale that the checkpoint will have.
  void prepare_save();

  // Runs `body`, in which ranks may have different numbers of batches.
  void join_uneven_inputs(const std::function<void()>& body, const JoinOptions& options);

  const std::shared_ptr<Accumulation>& window() const { return window_; }
  // Null except in fp16.
  const std::shared_ptr<GradScaler>& scaler() const { return scaler_; }

 private:
  GradientPieces gradient_pieces(const std::vector<at::Tensor>& parameters) const;
  bool is_distributed() const { return process_->communicator != nullptr; }
  void check_loss(const at::Tensor& loss) const;
  Strategies models_to_reduce(const at::Tensor& loss) const;
  at::Tensor touch_called_models(const at::Tensor& loss, Strategies& reduced) const;
  void agree(const Strategies& reduced);
  // Makes the backward pass, as one call of the communicator or as several.
  void reduce_in_calls(const std::function<void()>& pass, const Strategies& reduced,
                       const at::Tensor& loss);
  at::Tensor scale(const at::Tensor& loss, bool is_reduced);
  // Returns the scaler, or null without fp16. Throws std::logic_error if gradients cannot be
  // unscaled now, because the window has not ended.
  GradScaler* unscaling() const;

  const std::shared_ptr<ProcessState> process_;
  RunState& run_;
  const MixedPrecision precision_;
  const bool static_graph_;
  std::shared_ptr<Accumulation> window_;
  std::shared_ptr<GradScaler> scaler_;
  ParameterCheck parameter_check_;
};

}  // namespace accel::runtime
