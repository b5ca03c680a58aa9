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

namespace accel {

// Not thread-safe. Methods marked "collective" are called on all ranks in the same order; the
// others do not communicate.
class ParallelStrategy {
 public:
  virtual ~ParallelStrategy() = default;

  virtual const std::shared_ptr<torch::nn::Module>& module() const = 0;

  // Parameters and buffers become rank 0's, for a model that is prepared, and for one that is
  // prepared again; then with these options. Collective: one all-gather and one broadcast. Throws
  // std::invalid_argument if the ranks' models differ in more than their values.
  virtual void prepare(const DataParallelOptions& options) = 0;

  // Comes before a backward pass, also one that is not reduced: notices what the program has done
  // to the model since the last one (frozen, loaded, cast, extended).
  virtual void follow_changes() = 0;

  // Whether the backward pass from `loss` reaches a parameter of this model that requires a
  // gradient. Walks the graph until it does.
  virtual bool reached_from(const at::Tensor& loss) = 0;

  // What stands for each parameter that requires a gradient in the graphs that it is part of.
  virtual std::vector<const void*> trained() const = 0;
  // Whether another prepared model has some of these too, so that a pass may reduce them twice.
  virtual void set_shares_parameters(bool shares) = 0;

  // The model is called.
  virtual void note_call() = 0;
  // For a loss that depends on nothing of a model that was called, as where no sample of this rank
  // goes to any of its experts: zero, which does depend on it, so that this rank takes part in the
  // others' pass. Undefined if the model was not called, with a graph, since its last pass, and if
  // all parameters must take part in each loss.
  virtual at::Tensor nothing() = 0;

  // Collective from here on. Where a change was noticed, or a pass has failed halfway: the ranks
  // compare their models (one all-gather). Throws std::runtime_error if they have come to differ;
  // CommunicationError, also on the other ranks, if this has not happened on all of them;
  // std::invalid_argument if the model cannot have parameters in common with another.
  virtual void agree_on_changes() = 0;

  // Before the backward pass from `loss`: from now on gradients are reduced as they become ready.
  virtual void before_backward(const at::Tensor& loss) = 0;

  // After it: the gradients are complete on every rank. Throws std::runtime_error if they cannot
  // be.
  virtual void after_backward(const at::Tensor& loss) = 0;

  // After one that failed: the next pass is as if it had not been, but for the gradients, which are
  // to be zeroed. Not collective, but waits for what this rank has sent.
  virtual void cancel_backward() = 0;

  // For UnevenInputs. Whether a backward pass is followed by a broadcast of the buffers, and the
  // rank that they come from, 0 by default.
  virtual bool broadcasts_buffers() const = 0;
  virtual void set_leader(int rank) = 0;
  // What one backward pass of the other ranks communicates, with gradients of zero. This rank's
  // gradients stay as they are.
  virtual void shadow_backward(bool broadcast_buffers) = 0;
  // Parameters and buffers become that rank's. One broadcast.
  virtual void copy_from(int rank) = 0;

  // While there are pauses and it is not forced, backward passes go on without the collective calls
  // above.
  // While there are others than waits, ranks may step on gradients of their own.
  void add_pauses(int count) { pauses_ += count; }
  void add_waits(int count) {
    pauses_ += count;
    waits_ += count;
  }
  void add_forced(int count) { forced_ += count; }
  bool is_paused() const { return pauses_ > 0 && forced_ == 0; }
  bool may_train_apart() const { return pauses_ > waits_; }

 private:
  int pauses_ = 0;
  int waits_ = 0;
  int forced_ = 0;
};

}  // namespace accel
