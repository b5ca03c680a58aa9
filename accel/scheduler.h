// Learning rate schedulers that follow prepared optimizers: accel's own, and a
// wrapper of LibTorch's.
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

// Sets the learning rate of all parameter groups of an optimizer by a schedule, and the momentum
// (SGD) or beta1 (Adam, AdamW) if the schedule has one. A holder: copies are the same scheduler.
// Not thread-safe.
//
//   accel::Scheduler scheduler(optimizer, accel::linear_schedule(100, 1000));
//
// After prepare(), the program calls step() once per batch. Unless step_scheduler_with_optimizer is
// false, step() does nothing while gradients are accumulated, or if this optimizer skipped its
// step. SchedulerUnit determines by how much step() advances the schedule.
class Scheduler {
 public:
  // Sets the rates for step 0. Throws std::invalid_argument if the schedule has a momentum and the
  // optimizer has none.
  Scheduler(std::shared_ptr<torch::optim::Optimizer> optimizer, LrSchedule schedule);
  // The same for a prepared optimizer.
  template <typename Optim>
  Scheduler(const Optimizer<Optim>& optimizer, LrSchedule schedule)
      : Scheduler(optimizer.ptr(), std::move(schedule)) {}

  // Throws std::out_of_range if the schedule is over, and the scheduler is not prepared or
  // step_scheduler_with_optimizer is false.
  void step();

  // Returns one rate per parameter group.
  std::vector<double> get_last_lr() const;
  // Return the number of steps that the schedule has made, and the number of calls of step()
  // that were counted.
  std::int64_t last_epoch() const;
  std::int64_t step_count() const;

  // The counts of last_epoch() and step_count(), for checkpoints. set_state() also sets the rates.
  // It throws std::invalid_argument for counts that this schedule cannot have.
  runtime::SchedulerState state() const;
  void set_state(const runtime::SchedulerState& state);
  // Returns the object that checkpoints save and restore.
  std::shared_ptr<runtime::CheckpointedScheduler> prepared() const;

  // Makes step() follow the optimizer. Called by Accelerator::prepare(). Returns false and does
  // nothing if step() already follows it.
  bool follow(const runtime::SchedulerOptions& options,
              std::shared_ptr<const runtime::Accumulation> accumulation,
              std::shared_ptr<const runtime::GradScaler> scaler);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// A prepared scheduler of torch::optim, for example StepLR: a holder, of which `*` is the scheduler
// itself. Its step() follows the optimizers, like that of accel::Scheduler. LibTorch's schedulers
// keep a reference to their optimizer. So make them with the prepared optimizer, which must outlive
// them. Not thread-safe.
//
//   torch::optim::StepLR step_lr(*optimizer, 30);
//   auto scheduler = accelerator.prepare(step_lr);
//
// A checkpoint holds the scheduler's number of steps. The learning rates, from which the scheduler
// continues, are saved with the optimizer. If your own class has more state, give that state to
// register_for_checkpointing(). LibTorch's schedulers do not expose their optimizer. If any
// optimizer skips its step, all these schedulers therefore skip theirs.
template <typename Torch>
class TorchScheduler {
 public:
  // Makes an empty holder, for members that are assigned later. Methods throw std::logic_error.
  TorchScheduler() = default;
  TorchScheduler(std::shared_ptr<Torch> scheduler,
                 std::shared_ptr<runtime::AnyTorchScheduler> follower)
      : scheduler_(std::move(scheduler)), follower_(std::move(follower)) {}

  void step() {
    expect_assigned();
    follower_->step();
  }

  Torch& operator*() const {
    expect_assigned();
    return *scheduler_;
  }
  // LibTorch's own step(), the only member that `->` could reach, would bypass gradient
  // accumulation and skipped steps.
  Torch* operator->() const = delete;  // Write scheduler.step().

 private:
  void expect_assigned() const {
    if (scheduler_ == nullptr) {
      throw std::logic_error("this scheduler is empty: assign what prepare() returns first");
    }
  }

  std::shared_ptr<Torch> scheduler_;
  std::shared_ptr<runtime::AnyTorchScheduler> follower_;
};

}  // namespace accel
