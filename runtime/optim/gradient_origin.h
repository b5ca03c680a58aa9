// Tracks where the gradients of prepared optimizers came from.
//
// A program that calls loss.backward() instead of accelerator.backward(loss) trains one model per
// process, without an error, because nothing reduces the gradients. In fp16 it also mixes gradients
// with and without the loss scale. So each parameter of a prepared optimizer has a hook in
// LibTorch's autograd graph, behind the node that accumulates its gradient. The hook marks the
// gradient with the current origin. The scope of a pass of Accelerator::backward() sets that
// origin, and outside of any pass it is kPlain. Optimizer::step() throws for an origin that it must
// not step on. No collective is needed, and the hook costs two atomic loads and at most one
// store.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/parallel/strategy.h"

namespace torch::autograd {
struct Node;
}
namespace torch::optim {
class Optimizer;
}

namespace accel::runtime {

// The origin of a gradient, ordered from harmless to harmful. A parameter keeps the most harmful
// origin of all gradients that were added up in it.
enum class GradientOrigin : std::uint8_t {
  // There is no gradient, or it is the mean over all processes.
  kReduced,
  // The gradient of this process alone, which Accelerator::backward() has left because of
  // accumulate() or no_sync().
  kOwn,
  // The gradient arrived in a pass of Accelerator::backward() that has not ended.
  kRunning,
  // The gradient arrived in a pass that has thrown.
  kFailed,
  // The gradient arrived in loss.backward().
  kPlain,
};

class OptimizerGradients;

// The state that all optimizers of a process share. Gradients arrive in the threads of LibTorch's
// autograd engine. Everything else happens in one thread.
struct GradientRegistry {
  // The origin of gradients that arrive now.
  std::atomic<GradientOrigin> arriving = GradientOrigin::kPlain;
  std::vector<std::weak_ptr<OptimizerGradients>> optimizers = {};
};

// The gradients of one prepared optimizer.
class OptimizerGradients {
 public:
  struct World {
    // True if there is only one process.
    bool is_alone = true;
    bool is_main = true;
    // True if mixed_precision is fp16.
    bool scales_losses = false;
    // Returns the models whose gradients are reduced. Not called if is_alone.
    std::function<std::vector<std::shared_ptr<ParallelStrategy>>()> models = {};
  };
  OptimizerGradients(const std::shared_ptr<torch::optim::Optimizer>& optimizer,
                     std::shared_ptr<GradientRegistry> registry, World world);
  ~OptimizerGradients();
  OptimizerGradients(const OptimizerGradients&) = delete;
  OptimizerGradients& operator=(const OptimizerGradients&) = delete;

  // Called before a pass of Accelerator::backward(), and after a pass that has reduced `reduced`.
  // With several processes, gradients of loss.backward() remain kPlain if the pass `divides_loss`
  // by the batches of a window, because they were not divided.
  void begin_pass();
  void end_pass(const std::vector<std::shared_ptr<ParallelStrategy>>& reduced, bool divides_loss);

  // Called after the optimizer has zeroed its gradients.
  void zeroed();

  // Returns true if all gradients are the same on every process.
  bool are_reduced() const;

  // Returns true if one of the models whose gradients are reduced is sharded.
  bool are_shards() const;
  // Calls ParallelStrategy::begin_step() of these models. The effect lasts as long as
  // the result lives.
  std::shared_ptr<void> begin_step() const;

  // Called before a step. Throws std::logic_error, which says what to do instead, if the step would
  // use gradients of a pass that has failed, or of loss.backward(). Without fp16, gradients of
  // loss.backward() are no error in three cases: in no_sync() and LocalSgd, in parameters that are
  // in no model that is reduced, and if a later pass that does not divide its loss has reduced
  // them. Also throws if set_sync_gradients() requests the step (`forced`), and accumulate() has
  // left unreduced gradients in a model that is reduced.
  //
  // Looks for parameters that are in no model that is reduced: in the first call, and later if such
  // a parameter has a gradient of Accelerator::backward(). Throws std::logic_error with sharding if
  // there are any, and in fp16 if only some of the optimizer's parameters are in no model, because
  // an overflow there would skip the step of one process alone. Otherwise the main process names
  // the first of them on standard error, in the first call only.
  void expect_ready(bool forced);

 private:
  // The gradient of one parameter. The hook in the graph shares it and may outlive this object.
  struct Gradient {
    std::shared_ptr<GradientRegistry> registry;
    std::atomic<GradientOrigin> origin = GradientOrigin::kReduced;
    // The models that are reduced and have the parameter.
    std::vector<std::weak_ptr<ParallelStrategy>> models;
    bool scales_losses = false;

    // Called when a gradient arrives.
    void mark();
    // Returns true if no model has the parameter.
    bool is_loose() const;
    // Returns true if ranks may step on the gradient without reducing it.
    bool may_train_apart() const;
    bool keeps_gradients_local() const;
  };
  struct Watched {
    std::shared_ptr<Gradient> gradient = {};
    // The node that accumulates the gradient. Null if no gradient can arrive.
    std::shared_ptr<torch::autograd::Node> accumulator = {};
    std::uintptr_t hook = 0;
  };

  void follow_parameters();
  void find_models();
  void forget_zeroed();
  bool has_loose_gradients() const;
  void look_for_loose_parameters();

  // Weak, because the hooks must not keep the optimizer alive.
  const std::weak_ptr<torch::optim::Optimizer> optimizer_;
  const std::shared_ptr<GradientRegistry> registry_;
  const World world_;
  // In the order in which the optimizer lists its parameters.
  std::vector<Watched> watched_;
  std::vector<const ParallelStrategy*> known_models_;
  bool has_stepped_ = false;
};

// A pass of Accelerator::backward(). While the scope lives, gradients that arrive do not count as
// gradients of loss.backward().
class BackwardPassScope {
 public:
  // `arriving` is kRunning, or kReduced for a pass that leaves this process's gradients unchanged.
  explicit BackwardPassScope(std::shared_ptr<GradientRegistry> registry,
                             GradientOrigin arriving = GradientOrigin::kRunning);
  ~BackwardPassScope();
  BackwardPassScope(const BackwardPassScope&) = delete;
  BackwardPassScope& operator=(const BackwardPassScope&) = delete;

  // Called if the pass has succeeded and has reduced the gradients of these models. `divides_loss`
  // is that of OptimizerGradients::end_pass().
  void end(const std::vector<std::shared_ptr<ParallelStrategy>>& reduced, bool divides_loss);

 private:
  const std::shared_ptr<GradientRegistry> registry_;
};

}  // namespace accel::runtime
