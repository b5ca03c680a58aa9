// The interface by which the processes keep a prepared model consistent, as copies or as shards.
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
  // backward() leaves this process's own gradients in the model, and optimizers may step on them. A
  // sharded model keeps them, and steps throw. Used by no_sync() and LocalSgd.
  kOff,
  // backward() leaves this process's own gradients in the model, because the batch does not end its
  // window of accumulation. Optimizers do not step. A sharded model reduces in any case.
  kOffUntilWindowEnds,
  // backward() reduces the gradients, even if one of the two above applies as well.
  kForced,
};

// The part of a model by which a rank that has ended takes part in the passes of the
// others. Not thread-safe.
class Joinable {
 public:
  virtual ~Joinable() = default;

  // Not collective. broadcasts_buffers() returns true if each backward pass broadcasts buffers.
  // set_leader() sets the rank whose buffers are broadcast, by default 0.
  virtual bool broadcasts_buffers() const = 0;
  virtual void set_leader(int rank) = 0;
  // Makes the same collective calls as one backward pass of the other ranks, with gradients of
  // zero. Leaves this rank's gradients unchanged.
  virtual void shadow_backward(bool broadcast_buffers) = 0;
  // Copies the parameters and buffers of `rank` to all ranks. Collective: one broadcast per 25 MiB
  // of a dtype.
  virtual void copy_from(int rank) = 0;
};

// The way in which the ranks keep one prepared model consistent. Methods marked "collective" must
// be called on all ranks in the same order. Other methods do not communicate. Not thread-safe.
class ParallelStrategy {
 public:
  virtual ~ParallelStrategy() = default;

  virtual const std::shared_ptr<torch::nn::Module>& module() const = 0;

  // Copies rank 0's parameters and buffers to all ranks, and uses these options from now on. Called
  // each time that the model is prepared. Collective: all-gathers and broadcasts. Throws
  // std::invalid_argument if the ranks' models differ in more than their values.
  virtual void prepare(const DataParallelOptions& options) = 0;

  // Detects what the program has changed in the model since the last backward pass (frozen, loaded,
  // cast, extended), and may rebuild the reducer. Call it before each backward pass, even before
  // one that is not reduced. Throws std::logic_error if a sharded model has changed in more than
  // what is frozen.
  virtual void follow_changes() = 0;

  // Returns true if the backward pass from `loss` reaches a parameter of this model that requires a
  // gradient. Walks the graph up to the first such parameter.
  virtual bool is_reached_from(const at::Tensor& loss) const = 0;

  // Returns the node of each parameter that requires a gradient. Every graph that contains the
  // parameter has this node.
  virtual std::vector<const void*> trained() const = 0;
  // Tells the strategy whether another prepared model has some of these parameters too, so that a
  // pass may reduce them twice. May rebuild the reducer. Throws std::invalid_argument if so and
  // this model is sharded.
  virtual void set_shares_parameters(bool shares) = 0;

  // Records a call of the model. See zero_loss().
  virtual void note_call() = 0;
  // Returns a zero that depends on this model. If a model was called, but the loss does not depend
  // on it, the caller adds the zero to the loss. This rank then takes part in the others' pass.
  // This happens, for example, if no sample of this rank goes to any expert. Returns an undefined
  // tensor if each loss must depend on all parameters. Also returns one if the model was not called
  // with a graph since its last pass.
  virtual at::Tensor zero_loss() = 0;

  // The methods from here on are collective, except where a comment says otherwise.

  // Compares the ranks' models if a change was detected, or a pass has failed halfway: one
  // all-gather. Throws std::runtime_error if the models differ, and std::invalid_argument if the
  // model cannot share parameters with another model. Throws CommunicationError, on all ranks, if
  // only some of them compare.
  virtual void agree_on_changes() = 0;

  // Begins the backward pass from `loss`, in which gradients are reduced as they become ready.
  virtual void before_backward(const at::Tensor& loss) = 0;

  // Ends the pass. The gradients are then complete on every rank. Throws std::runtime_error if the
  // loss did not depend on all parameters, unless unused parameters are allowed.
  virtual void after_backward(const at::Tensor& loss) = 0;

  // Ends a pass that failed, so that it does not affect the next pass. The gradients must then be
  // zeroed. Not collective, but waits for the buckets that this rank has sent.
  virtual void cancel_backward() = 0;

  // The methods from here on are not collective, unless their comment says so.

  // Returns what join_uneven_inputs() needs, or null if ranks of this model cannot have different
  // numbers of batches.
  virtual Joinable* joinable() { return nullptr; }

  // Returns true if this rank holds only a part of the model. Each of its collectives is then a
  // separate call with its own name. Gradients are reduced in every pass outside of no_sync(). The
  // gradient of a parameter is this rank's piece of it.
  virtual bool is_sharded() const { return false; }

  // The ranks that together hold the model once. Null unless is_sharded(), and null if this rank
  // alone holds the model.
  virtual Communicator* shard_group() const { return nullptr; }

  // Returns the identities of the parameters of which this rank holds a piece. Empty unless
  // is_sharded().
  virtual std::vector<const void*> sharded() const { return {}; }

  // Returns the lines that accelerator.print_sharding() prints.
  virtual std::string sharding_report() const {
    return "not sharded: each process holds the whole model";
  }

  // Gives the parameters of a sharded model their whole values as plain memory, as long as the
  // result lives. If `is_written`, this rank keeps its part of values that are written to them.
  // Collective if the model is sharded, otherwise returns null.
  virtual std::shared_ptr<void> begin_whole(bool /*is_written*/) { return nullptr; }

  // Gives the parameters the values that an optimizer on this rank steps on, as long as the
  // result lives. Returns null if they have these values anyway. Throws std::logic_error if no
  // step is possible now.
  virtual std::shared_ptr<void> begin_step() { return nullptr; }

  // Drops the gradients of these parameters that a sharded model has kept because of no_sync().
  // Called when an optimizer has zeroed their gradients. `parameters` are their identities.
  virtual void drop_kept_gradients(const std::set<const void*>& /*parameters*/) {}

  // Counts the GradientSyncScopes of this model. `change` is 1 or -1. Not collective.
  void count_scopes(GradientSync sync, int change) { scopes_[static_cast<int>(sync)] += change; }

  // Returns true if backward passes leave this process's own gradients in the model. They then make
  // none of the collective calls above.
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
