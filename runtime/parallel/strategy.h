// How the copies or shards of one prepared model are kept consistent over the processes.
#pragma once

#include <ATen/core/Tensor.h>

namespace accel {

// Not thread-safe. Every method is called on all ranks in the same order.
class ParallelStrategy {
 public:
  virtual ~ParallelStrategy() = default;

  // Whether the backward pass from `loss` reaches a parameter of this model. Walks the graph.
  virtual bool reached_from(const at::Tensor& loss) const = 0;

  // Before the backward pass from `loss`: from now on gradients are reduced as they become ready.
  virtual void before_backward(const at::Tensor& loss) = 0;

  // After it: the gradients are complete on every rank. Throws std::runtime_error if they cannot
  // be.
  virtual void after_backward(const at::Tensor& loss) = 0;

  // Until each pause() has its resume(), backward passes go on without the two calls above.
  void pause() { ++pauses_; }
  void resume() { --pauses_; }
  bool is_paused() const { return pauses_ > 0; }

 private:
  int pauses_ = 0;
};

}  // namespace accel
