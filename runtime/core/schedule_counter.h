// Decides how far a call of a prepared scheduler's step() moves its schedule, depending on whether
// the optimizer stepped and in which unit the schedule counts.
#pragma once

#include <cstdint>
#include <optional>

#include "accel/options.h"

namespace accel::runtime {

// How a prepared scheduler follows its optimizer.
struct SchedulerOptions {
  // If true, the schedule moves only when the optimizer steps. If false, each call is one step.
  bool step_with_optimizer = true;
  SchedulerUnit unit = SchedulerUnit::kBatches;
  bool split_batches = false;
  int data_parallel_size = 1;
  bool adjust_scheduler = true;  // See GradientAccumulation.
};

// The part of a scheduler that a checkpoint keeps.
struct SchedulerState {
  std::int64_t last_epoch = 0;
  std::int64_t step_count = 1;
  // The step count of a LibTorch scheduler, which keeps one itself and may have been stepped before
  // prepare(). nullopt for an accel::Scheduler.
  std::optional<std::int64_t> libtorch_step_count = {};

  bool operator==(const SchedulerState&) const = default;
};

// The number of steps that one schedule has made. Not thread-safe.
class ScheduleCounter {
 public:
  // `total_steps` is the length of the schedule, or nullopt if it never ends.
  explicit ScheduleCounter(std::optional<std::int64_t> total_steps) : total_steps_(total_steps) {}

  // Counts one call of step(). `sync_gradients` is true if the optimizer was due to step, and
  // `step_was_skipped` if it skipped that step because of an overflow. A schedule that is over does
  // not move. Throws std::out_of_range if it is over and step_with_optimizer is false.
  void step(const SchedulerOptions& options, bool sync_gradients, bool step_was_skipped);

  // The steps of the schedule so far. Named as in PyTorch, although these are not epochs.
  std::int64_t last_epoch() const { return state_.last_epoch; }
  // 1 plus the steps of the schedule, and with adjust_scheduler also plus the calls in which the
  // optimizer was not due. Named and counted as in PyTorch.
  std::int64_t step_count() const { return state_.step_count; }

  const SchedulerState& state() const { return state_; }
  // Throws std::invalid_argument if a count is negative or last_epoch is beyond total_steps.
  void set_state(const SchedulerState& state);

 private:
  bool is_over() const { return total_steps_ && state_.last_epoch >= *total_steps_; }
  void advance();

  std::optional<std::int64_t> total_steps_;
  SchedulerState state_;
};

}  // namespace accel::runtime
