#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "accel/lr_schedule.h"
#include "accel/optimizer.h"
#include "runtime/core/accumulation.h"
#include "runtime/core/schedule_counter.h"
#include "runtime/optim/any_torch_scheduler.h"
#include "runtime/optim/checkpointed_scheduler.h"
#include "runtime/precision/grad_scaler.h"

namespace torch::optim {
class Optimizer;
}

namespace accel {

// Moves the learning rate of all parameter groups of an optimizer, and the momentum (SGD) or beta1
// (Adam, AdamW) if the schedule says so. A holder: copies are the same scheduler.
//
//   accel::Scheduler scheduler(optimizer, accel::linear_schedule(100, 1000));
//
// After prepare(), step() is called once per batch and follows the optimizer: it does nothing while
// gradients are accumulated or where the optimizer's step was skipped, and counts as SchedulerUnit
// says.
class Scheduler {
 public:
  // Sets the rates of step 0. Throws std::invalid_argument if the schedule moves the momentum of an
  // optimizer that has none.
  Scheduler(std::shared_ptr<torch::optim::Optimizer> optimizer, LrSchedule schedule);
  // Of a prepared optimizer.
  template <typename Optim>
  Scheduler(const Optimizer<Optim>& optimizer, LrSchedule schedule)
      : Scheduler(optimizer.ptr(), std::move(schedule)) {}

  // Throws std::out_of_range if the schedule is over and step_scheduler_with_optimizer is false.
  void step();

  // One rate per parameter group.
  std::vector<double> get_last_lr() const;
  // Steps of the schedule so far, and how many calls were counted.
  std::int64_t last_epoch() const;
  std::int64_t step_count() const;

  // Both, for checkpoints; setting them sets the rates too. Throws std::invalid_argument for counts
  // that this schedule cannot have.
  SchedulerState state() const;
  void set_state(const SchedulerState& state);
  // What checkpoints save.
  std::shared_ptr<CheckpointedScheduler> prepared() const;

  // Called by Accelerator::prepare(). The first binding stays; returns whether this is it.
  bool follow(const SchedulerOptions& options, std::shared_ptr<const Accumulation> accumulation,
              std::shared_ptr<const GradScaler> scaler);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// A prepared scheduler of torch::optim, such as StepLR: a holder; `*` is the scheduler itself.
// step() follows the optimizers as accel::Scheduler's does. LibTorch's schedulers refer to their
// optimizer, so make one over the prepared optimizer, which outlives it:
//
//   torch::optim::StepLR step_lr(*optimizer, 30);
//   auto scheduler = accelerator.prepare(step_lr);
//
// Checkpoints hold how often it has stepped; the rates, from which it goes on, are the optimizer's.
// What a class of one's own keeps beside these is for register_for_checkpointing(). LibTorch's
// schedulers cannot tell their optimizer: a skipped step of any optimizer holds them back.
template <typename Torch>
class TorchScheduler {
 public:
  // No scheduler yet, for members that are assigned later. Throws std::logic_error where it is
  // used.
  TorchScheduler() = default;
  TorchScheduler(std::shared_ptr<Torch> scheduler, std::shared_ptr<AnyTorchScheduler> follower)
      : scheduler_(std::move(scheduler)), follower_(std::move(follower)) {}

  void step() {
    expect_assigned();
    follower_->step();
  }

  Torch& operator*() const {
    expect_assigned();
    return *scheduler_;
  }
  // LibTorch's step(), all that there would be, goes round accumulation and skipped steps.
  Torch* operator->() const = delete;  // Write scheduler.step() instead of scheduler->step().

 private:
  void expect_assigned() const {
    if (scheduler_ == nullptr) {
      throw std::logic_error("this scheduler is empty: assign what prepare() returns first");
    }
  }

  std::shared_ptr<Torch> scheduler_;
  std::shared_ptr<AnyTorchScheduler> follower_;
};

}  // namespace accel
