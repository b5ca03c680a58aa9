// Local SGD: each process steps on its own gradients, and every few steps the processes average
// their parameters. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "accel/accelerator.h"
#include "runtime/step/gradient_sync_scope.h"

namespace accel {

// A scope of local SGD. While it lives, backward() leaves this process's gradients in
// the model, unreduced:
//
//   accel::LocalSgd local_sgd(accelerator, model, 8);
//   for (auto& batch : loader) {
//     accelerator.backward(loss_of(model(batch.data), batch.target));
//     optimizer.step();
//     optimizer.zero_grad();
//     local_sgd.step();
//   }
//
// Every process must make the same number of steps. Only parameters are averaged. Buffers and the
// state of optimizers remain local. The first backward pass after the scope copies rank 0's buffers
// again. In fp16 a process may skip a step that others make.
class LocalSgd {
 public:
  // The scope does nothing if `enabled` is false, or for one process. Throws std::invalid_argument
  // if `every_steps` is less than 1.
  template <typename Holder>
  LocalSgd(const Accelerator& accelerator, const Model<Holder>& model, int every_steps,
           bool enabled = true)
      : LocalSgd(accelerator, runtime::module_of(model.unwrap()), model.strategy(), every_steps,
                 enabled) {}
  // Averages the parameters once more, unless an exception ends the scope. Collective.
  // Throws as step().
  ~LocalSgd() noexcept(false);
  LocalSgd(const LocalSgd&) = delete;
  LocalSgd& operator=(const LocalSgd&) = delete;

  // Call it after each optimizer step. Every `every_steps`-th call is collective: one all-reduce
  // for each parameter. Throws CommunicationError if a peer is lost.
  void step();

 private:
  LocalSgd(const Accelerator& accelerator, std::shared_ptr<torch::nn::Module> module,
           const std::shared_ptr<runtime::ParallelStrategy>& strategy, int every_steps,
           bool enabled);
  void average();

  const Accelerator accelerator_;
  const std::shared_ptr<torch::nn::Module> module_;
  const bool enabled_;
  const int every_steps_;
  // The number of exceptions in flight at construction. The destructor compares it with the current
  // number: it must not communicate if an exception ends the scope, because the other ranks may be
  // in another call.
  const int exceptions_;
  const runtime::GradientSyncScope local_gradients_;
  std::int64_t steps_ = 0;
};

}  // namespace accel
