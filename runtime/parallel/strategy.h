// How the copies or shards of one prepared model are kept consistent over the processes.
#pragma once

namespace at {
class Tensor;
}
namespace torch::nn {
class Module;
}

namespace accel {

// Not thread-safe. Every method is called on all ranks in the same order.
class ParallelStrategy {
 public:
  virtual ~ParallelStrategy() = default;

  // Whether the backward pass from `loss` reaches a parameter of this model that requires a
  // gradient now. Walks the graph until it does. Comes before before_backward().
  virtual bool reached_from(const at::Tensor& loss) = 0;

  // Before the backward pass from `loss`: from now on gradients are reduced as they become ready.
  virtual void before_backward(const at::Tensor& loss) = 0;

  // After it: the gradients are complete on every rank. Throws std::runtime_error if they cannot
  // be.
  virtual void after_backward(const at::Tensor& loss) = 0;

  virtual const torch::nn::Module* module() const = 0;

  // For UnevenInputs. Whether a backward pass is followed by a broadcast of the buffers, and the
  // rank that they come from, 0 by default.
  virtual bool broadcasts_buffers() const = 0;
  virtual void set_leader(int rank) = 0;
  // What one backward pass of the other ranks communicates, with gradients of zero. This rank's
  // gradients stay as they are.
  virtual void shadow_backward(bool broadcast_buffers) = 0;
  // Parameters and buffers become that rank's. One broadcast.
  virtual void copy_from(int rank) = 0;

  // While there are pauses and it is not forced, backward passes go on without the calls above.
  void add_pauses(int count) { pauses_ += count; }
  void add_forced(int count) { forced_ += count; }
  bool is_paused() const { return pauses_ > 0 && forced_ == 0; }

 private:
  int pauses_ = 0;
  int forced_ = 0;
};

}  // namespace accel
