// The interface that keeps copies or shards of a prepared model consistent over the processes.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "accel/options.h"

namespace at {
class Tensor;
}
namespace torch::nn {
class Module;
}

namespace accel::runtime {

class Communicator;

// The effect of a GradientSyncScope: how backward() treats the gradients of its models.
enum class GradientSync {
  // It leaves this process's own gradients in the model, and optimizers may step on them. Used by
  // no_sync() and LocalSgd.
  kOff,
  // It does the same, in a batch that does not end its window of accumulation. Optimizers
  // do not step.
  kOffUntilWindowEnds,
  // It reduces them, even if one of the two above holds as well.
  kForced,
};

// What a model does while ranks that have ended take part in the passes of the others. Not
// thread-safe.
class Joinable {
 public:
  virtual ~Joinable() = default;

  // Not collective. broadcasts_buffers() returns true if each backward pass broadcasts buffers.
  // set_leader() sets the rank that they come from, by default 0.
  virtual bool broadcasts_buffers() const = 0;
  virtual void set_leader(int rank) = 0;
  // Makes the same collective calls as one backward pass of the other ranks, with gradients of
  // zero. Leaves this rank's gradients unchanged.
  virtual void shadow_backward(bool broadcast_buffers) = 0;
  // Copies the parameters and buffers of `rank` to all ranks. Collective: one broadcast.
  virtual void copy_from(int rank) = 0;
};

// Not thread-safe. Methods marked "collective" must be called on all ranks in the same order. The
// others do not communicate.
class ParallelStrategy {
 public:
  virtual ~ParallelStrategy() = default;

  virtual const std::shared_ptr<torch::nn::Module>& module() const = 0;

  // Copies rank 0's parameters and buffers to all ranks, and uses these options from now on. Called
  // each time that the model is prepared. Collective: one all-gather and one broadcast. Throws
  // std::invalid_argument if the ranks' models differ in more than their values.
  virtual void prepare(const DataParallelOptions& options) = 0;

  // Detects what the program has changed in the model since the last backward pass (frozen, loaded,
  // cast, extended), and may rebuild the reducer. Call it before each backward pass, even if that
  // is not reduced.
  virtual void follow_changes() = 0;

  // Returns true if the backward pass from `loss` reaches a parameter of this model that requires a
  // gradient. Walks the graph up to the first such parameter.
  virtual bool is_reached_from(const at::Tensor& loss) const = 0;

  // Returns the node of each parameter that requires a gradient. Every graph with the
  // parameter has it.
  virtual std::vector<const void*> trained() const = 0;
  // Tells the strategy whether another prepared model has some of these parameters too, so that a
  // pass may reduce them twice. May rebuild the reducer.
  virtual void set_shares_parameters(bool shares) = 0;

  // Records a call of the model. See zero_loss().
  virtual void note_call() = 0;
  // Returns a zero that depends on this model. If a model was called, but the loss does not depend
  // on it, the caller adds the zero to the loss, so that this rank takes part in the others' pass.
  // This happens, for example, if no sample of this rank goes to any expert. Returns an undefined
  // tensor if the model was not called with a graph since its last pass, or if each loss must
  // depend on all parameters.
  virtual at::Tensor zero_loss() = 0;

  // The methods from here on are collective, except where a comment says otherwise.

  // Compares the ranks' models if a change was detected, or a pass has failed halfway: one
  // all-gather. Throws std::runtime_error if the models differ; CommunicationError, on all
  // ranks, if only some of them compare; std::invalid_argument if the model cannot share
  // parameters with another one.
  virtual void agree_on_changes() = 0;

  // Begins the backward pass from `loss`, in which gradients are reduced as they become ready.
  virtual void before_backward(const at::Tensor& loss) = 0;

  // Ends the pass. The gradients are then complete on every rank. Throws std::runtime_error if the
  // loss did not depend on all parameters, and unused ones are not allowed.
  virtual void after_backward(const at::Tensor& loss) = 0;

  // Ends a pass that failed, so that it does not affect the next pass. The gradients must then be
  // zeroed. Not collective, but waits for the buckets that this rank has sent.
  virtual void cancel_backward() = 0;

  // The methods from here on are not collective.

  // Returns what join_uneven_inputs() needs, or null if ranks of this model cannot have different
  // numbers of batches.
  virtual Joinable* joinable() { return nullptr; }

  // Returns true if this rank holds only a part of the model. Each of its collectives is then a
  // call with a name of its own, gradients are reduced in every pass, and the gradient of a
  // parameter is this rank's piece of it.
  virtual bool is_sharded() const { return false; }

  // The ranks that together hold the model once; null if this rank alone does. Not null only if
  // is_sharded().
  virtual Communicator* shard_group() const { return nullptr; }

  // Returns the identities of the parameters of which this rank holds a piece. Empty unless
  // is_sharded().
  virtual std::vector<const void*> sharded() const { return {}; }

  // Returns the lines that accelerator.print_sharding() prints.
  virtual std::string sharding_report() const {
    return "not sharded: each process holds the whole model";
  }

  // Collective if the model is sharded: gives the parameters their whole values as plain memory, as
  // long as the result lives. If `is_written`, this rank keeps its part of what is written to them.
  // Null if they have them anyway.
  virtual std::shared_ptr<void> begin_whole(bool /*is_written*/) { return nullptr; }

  // Gives the parameters the values that an optimizer on this rank steps on, as long as the result
  // lives. Null if they have them anyway. Throws std::logic_error if no step is possible now.
  virtual std::shared_ptr<void> begin_step() { return nullptr; }

  // Drops the gradients that a sharded model has kept outside of these parameters, because they
  // came inside of no_sync(): an optimizer has zeroed the gradients of the parameters, which are
  // given by their identities.
  virtual void drop_kept_gradients(const std::set<const void*>& /*parameters*/) {}

  // Counts the GradientSyncScopes of this model. `change` is 1 or -1. Not collective.
  void count_scopes(GradientSync sync, int change) { scopes_[static_cast<int>(sync)] += change; }

  // Returns true if backward passes leave this process's own gradients in the model, without the
  // collective calls above.
  bool keeps_gradients_local() const {
    return !is_sharded() && scopes(GradientSync::kForced) == 0 &&
           scopes(GradientSync::kOff) + scopes(GradientSync::kOffUntilWindowEnds) > 0;
  }
  // Returns true if ranks may step on unreduced gradients.
  bool may_train_apart() const { return scopes(GradientSync::kOff) > 0; }

 protected:
  int scopes(GradientSync sync) const { return scopes_[static_cast<int>(sync)]; }

 private:
  int scopes_[3] = {};  // By GradientSync.
};

using Strategies = std::vector<std::shared_ptr<ParallelStrategy>>;

}  // namespace accel::runtime
