// How the copies or shards of one prepared model are kept consistent over the processes.
#pragma once

#include <memory>
#include <vector>

#include "accel/options.h"

namespace at {
class Tensor;
}
namespace torch::nn {
class Module;
}

namespace accel::runtime {

// What backward() does with a model's gradients while a GradientSyncScope lives.
enum class GradientSync {
  // It leaves this process's own gradients in the model, and optimizers may step on them: no_sync()
  // and LocalSgd.
  kOff,
  // The same in a batch that does not end its window of accumulation. Optimizers do not step.
  kOffUntilWindowEnds,
  // It reduces them, in spite of the two above.
  kForced,
};

// Not thread-safe. Methods marked "collective" are called on all ranks in the same order; the
// others do not communicate.
class ParallelStrategy {
 public:
  virtual ~ParallelStrategy() = default;

  virtual const std::shared_ptr<torch::nn::Module>& module() const = 0;

  // Makes parameters and buffers rank 0's, for a model that is prepared for the first time or
  // again, and uses these options from now on. Collective: one all-gather and one broadcast. Throws
  // std::invalid_argument if the ranks' models differ in more than their values.
  virtual void prepare(const DataParallelOptions& options) = 0;

  // Notices what the program has done to the model since the last backward pass (frozen, loaded,
  // cast, extended), and may rebuild the reducer. Call it before each backward pass, also one that
  // is not reduced.
  virtual void follow_changes() = 0;

  // Whether the backward pass from `loss` reaches a parameter of this model that requires a
  // gradient. Walks the graph until it does.
  virtual bool is_reached_from(const at::Tensor& loss) const = 0;

  // Returns the nodes that stand for the parameters which require a gradient in every graph.
  virtual std::vector<const void*> trained() const = 0;
  // Whether another prepared model has some of these too, so that a pass may reduce them twice. May
  // rebuild the reducer.
  virtual void set_shares_parameters(bool shares) = 0;

  // Says that the model is called.
  virtual void note_call() = 0;
  // Returns zero, as a tensor that depends on this model, for a loss that depends on nothing of a
  // model that was called; so this rank takes part in the others' pass. This happens, for instance,
  // if no sample of this rank goes to any expert. Returns an undefined tensor if the model was not
  // called with a graph since its last pass, or if all parameters must take part in each loss.
  virtual at::Tensor nothing() = 0;

  // The methods from here on are collective.

  // Compares the ranks' models if a change was noticed, or a pass has failed halfway: one
  // all-gather. Throws std::runtime_error if they have come to differ; CommunicationError, also on
  // the other ranks, if only some ranks compare; std::invalid_argument if the model cannot share
  // parameters with another one.
  virtual void agree_on_changes() = 0;

  // Begins the backward pass from `loss`: from now on gradients are reduced as they become ready.
  virtual void before_backward(const at::Tensor& loss) = 0;

  // Ends it: the gradients are complete on every rank. Throws std::runtime_error if they cannot be.
  virtual void after_backward(const at::Tensor& loss) = 0;

  // Ends a pass that failed, so that the next pass is as if it had not been, except for the
  // gradients, which must be zeroed. Not collective, but waits for what this rank has sent.
  virtual void cancel_backward() = 0;

  // For UnevenInputs. Whether a broadcast of the buffers follows each backward pass, and the rank
  // that they come from; 0 by default.
  virtual bool broadcasts_buffers() const = 0;
  virtual void set_leader(int rank) = 0;
  // Communicates what one backward pass of the other ranks does, with gradients of zero. Leaves
  // this rank's gradients unchanged.
  virtual void shadow_backward(bool broadcast_buffers) = 0;
  // Copies that rank's parameters and buffers to all ranks. One broadcast.
  virtual void copy_from(int rank) = 0;

  // Counts the GradientSyncScopes that hold for this model; `change` is 1 or -1.
  void count_scopes(GradientSync sync, int change) { scopes_[static_cast<int>(sync)] += change; }

  // Whether backward passes leave this process's own gradients in the model, without the collective
  // calls above.
  bool keeps_gradients_local() const {
    return scopes(GradientSync::kOff) + scopes(GradientSync::kOffUntilWindowEnds) > 0 &&
           scopes(GradientSync::kForced) == 0;
  }
  // Whether ranks may step on gradients of their own.
  bool may_train_apart() const { return scopes(GradientSync::kOff) > 0; }

 private:
  int scopes(GradientSync sync) const { return scopes_[static_cast<int>(sync)]; }

  int scopes_[3] = {};  // By GradientSync.
};

using Strategies = std::vector<std::shared_ptr<ParallelStrategy>>;

}  // namespace accel::runtime
