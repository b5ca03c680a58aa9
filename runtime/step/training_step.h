// One training step of an Accelerator, from accumulate() to zero_grad().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "accel/options.h"
#include "runtime/core/accumulation.h"
#include "runtime/parallel/parameter_check.h"
#include "runtime/precision/grad_scaler.h"
#include "runtime/process/process_state.h"
#include "runtime/step/accumulation_scope.h"
#include "runtime/step/optimizer_step.h"

namespace accel::runtime {

class RunState;

// The methods are the life of a step, in the order in which a program causes them. The program may
// leave out begin_batch(), and everything that begin_batch() decides is then as for a window of one
// batch. Accelerator says what each method throws. Not thread-safe.
//
// docs/life-of-a-step.md tells the same with the functions that are called below.
class TrainingStep {
 public:
  using Modules = std::vector<std::shared_ptr<torch::nn::Module>>;

  // `run` has the models, optimizers and schedulers of the Accelerator, and outlives this.
  TrainingStep(std::shared_ptr<ProcessState> process, const AcceleratorOptions& options,
               RunState& run);

  // Adds what the steps to come are about. The result is what a prepared optimizer asks in its own
  // step(); it keeps the process's world alive.
  void add_model(const std::shared_ptr<ParallelStrategy>& strategy);
  OptimizerStep add_optimizer(const std::shared_ptr<torch::optim::Optimizer>& optimizer);
  // Forgets all of these, and the open window.
  void clear();

  // 1. A batch begins: the window of accumulation counts it, and decides whether the batch ends the
  // window. If it does not, backward() keeps the gradients of the models local while the scope
  // lives. If it ends a short window, the gradients so far are scaled up.
  [[nodiscard]] AccumulationScope begin_batch(Modules modules, Strategies strategies);
  bool sync_gradients() const { return window_->sync_gradients(); }
  void set_sync_gradients(bool sync);

  // 2. The backward pass, and 3. the reduction of gradients, which runs while the pass goes on.
  void backward(const at::Tensor& loss, const BackwardOptions& options);

  // 4. In fp16: the gradients of all optimizers, of one, or of those that have these parameters are
  // divided by the scale of the loss, once after each backward pass.
  void unscale();
  void unscale(const torch::optim::Optimizer& optimizer);
  double clip_grad_norm(const std::vector<at::Tensor>& parameters, double max_norm,
                        double norm_type);
  void clip_grad_value(const std::vector<at::Tensor>& parameters, double clip_value);

  // 5. and 6. The optimizer may step or not, and zeroes its gradients: OptimizerStep.
  bool was_skipped() const { return scaler_ != nullptr && scaler_->any_step_was_skipped(); }

  // Between two steps. Brings gradients and scale to the state that a checkpoint needs, and
  // compares the ranks' parameters.
  void prepare_save();

  // Runs `body`, in which ranks may have different numbers of batches.
  void join_uneven_inputs(const std::function<void()>& body, const JoinOptions& options);

  const std::shared_ptr<Accumulation>& window() const { return window_; }
  // Null except in fp16.
  const std::shared_ptr<GradScaler>& scaler() const { return scaler_; }

 private:
  bool is_distributed() const { return process_->communicator != nullptr; }
  void check_loss(const at::Tensor& loss) const;
  Strategies models_to_reduce(const at::Tensor& loss) const;
  at::Tensor touch_called_models(const at::Tensor& loss, Strategies& reduced) const;
  void agree(const Strategies& reduced);
  at::Tensor scale(const at::Tensor& loss, bool is_reduced);
  // The scaler, where gradients can be unscaled; null without one.
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
