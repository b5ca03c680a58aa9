#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/core/accumulation.h"
#include "runtime/core/lr_schedule.h"
#include "runtime/core/scheduler_steps.h"
#include "runtime/optim/optimizer.h"
#include "runtime/optim/prepared_scheduler.h"
#include "runtime/precision/loss_scaler.h"

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
  std::shared_ptr<PreparedScheduler> prepared() const;

  // Called by Accelerator::prepare(). The first binding stays; returns whether this is it.
  bool bind(const SchedulerOptions& options, std::shared_ptr<const Accumulation> accumulation,
            std::shared_ptr<const LossScaler> scaler);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace accel
