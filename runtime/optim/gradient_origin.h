// How gradients came to the parameters of prepared optimizers, so that no step is made on gradients
// that one process has alone, or that lack the scale of fp16.
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

namespace accel {

enum class GradientOrigin : std::uint8_t {
  kReduced,  // There is none, or it is the mean over all processes.
  kOwn,      // Accelerator::backward() has left this process's own, as it was told to.
  kRunning,  // It came in a pass of Accelerator::backward() that has not ended.
  kFailed,   // It came in one that has thrown.
  kPlain,    // It came by loss.backward().
};

class OptimizerGradients;

// What the optimizers of a process have in common. Gradients arrive in the threads of LibTorch's
// engine; all else is done in one thread.
struct GradientRegistry {
  // What the gradients that arrive now are marked with.
  std::atomic<GradientOrigin> arriving = GradientOrigin::kPlain;
  std::vector<std::weak_ptr<OptimizerGradients>> optimizers = {};
};

// The gradients of one prepared optimizer.
class OptimizerGradients {
 public:
  struct World {
    bool is_alone = true;  // There is one process.
    bool is_main = true;
    bool scales_losses = false;  // fp16.
    // The models whose gradients are reduced, where it is not alone.
    std::function<std::vector<std::shared_ptr<ParallelStrategy>>()> models = {};
  };
  OptimizerGradients(const std::shared_ptr<torch::optim::Optimizer>& optimizer,
                     std::shared_ptr<GradientRegistry> passes, World world);
  ~OptimizerGradients();
  OptimizerGradients(const OptimizerGradients&) = delete;
  OptimizerGradients& operator=(const OptimizerGradients&) = delete;

  // Before a pass of Accelerator::backward(), and after one that has reduced these models.
  void begin_pass();
  void end_pass(const std::vector<std::shared_ptr<ParallelStrategy>>& reduced);

  // The optimizer has zeroed its gradients.
  void zeroed();

  // Whether all gradients are the same on every process.
  bool are_reduced() const;

  // Before a step. Throws std::logic_error, with what to do instead, if it would be made on
  // gradients of loss.backward() or of a pass that has failed; or if set_sync_gradients() asks for
  // it (`forced`) on gradients that accumulate() has left on this process. The first time it says
  // on standard error which parameters are in no model that is reduced; in fp16 it throws if others
  // of the optimizer's are, because overflows would part the processes.
  void expect_ready(bool forced);

 private:
  // Shared with the hook in the graph, which may outlive this.
  struct Arrival {
    std::shared_ptr<GradientRegistry> passes;
    std::atomic<GradientOrigin> origin = GradientOrigin::kReduced;
    // Those that have the parameter, of the models that are reduced.
    std::vector<std::weak_ptr<ParallelStrategy>> models;
    bool scales_losses = false;

    void mark();
    bool is_loose() const;  // It is in none of them.
    bool keeps_gradients_local() const;
  };
  struct Watched {
    std::shared_ptr<Arrival> arrival = {};
    std::shared_ptr<torch::autograd::Node> accumulator = {};  // Null where nothing can arrive.
    std::uintptr_t hook = 0;
  };

  void follow_parameters();
  void find_models();
  void forget_zeroed();
  bool has_loose_gradients() const;
  void look_for_loose_parameters();

  // The nodes refer to the parameters, not to the optimizer.
  const std::weak_ptr<torch::optim::Optimizer> optimizer_;
  const std::shared_ptr<GradientRegistry> passes_;
  const World world_;
  std::vector<Watched> watched_;  // As the optimizer lists its parameters.
  std::vector<const ParallelStrategy*> known_models_;
  bool has_stepped_ = false;
};

// A pass of Accelerator::backward(): what arrives while it lives is no gradient of loss.backward().
class BackwardPassScope {
 public:
  // `arriving` is kRunning, or kReduced for a pass that changes no gradient.
  explicit BackwardPassScope(std::shared_ptr<GradientRegistry> passes,
                             GradientOrigin arriving = GradientOrigin::kRunning);
  ~BackwardPassScope();
  BackwardPassScope(const BackwardPassScope&) = delete;
  BackwardPassScope& operator=(const BackwardPassScope&) = delete;

  // It has succeeded, and the gradients of these models are reduced.
  void end(const std::vector<std::shared_ptr<ParallelStrategy>>& reduced);

 private:
  const std::shared_ptr<GradientRegistry> passes_;
};

}  // namespace accel
