// How far a call of a prepared scheduler's step() moves its schedule.
#pragma once

#include <cstdint>
#include <optional>

#include "accel/options.h"

namespace accel {

struct SchedulerOptions {
  bool step_with_optimizer = true;  // False: each call is one step, whatever the optimizer did.
  SchedulerUnit unit = SchedulerUnit::kBatches;
  bool split_batches = false;
  int data_parallel_size = 1;
  bool adjust_scheduler = true;  // As in GradientAccumulation.
};

// What a checkpoint keeps.
struct SchedulerState {
  std::int64_t last_epoch = 0;
  std::int64_t step_count = 1;
  // What a scheduler of LibTorch's has counted by itself, which it may have begun before prepare();
  // std::nullopt for an accel::Scheduler.
  std::optional<std::int64_t> libtorch_step_count = {};

  bool operator==(const SchedulerState&) const = default;
};

class ScheduleCounter {
 public:
  // `total_steps`: where the schedule ends, if it does.
  explicit ScheduleCounter(std::optional<std::int64_t> total_steps) : total_steps_(total_steps) {}

  // One call. `sync_gradients`: the optimizer was to step; `step_was_skipped`: but did not. A
  // schedule that is over stays where it is. Throws std::out_of_range if it is over and
  // step_with_optimizer is false.
  void step(const SchedulerOptions& options, bool sync_gradients, bool step_was_skipped);

  // Steps of the schedule so far.
  std::int64_t last_epoch() const { return state_.last_epoch; }
  // 1, and what was counted: steps, and with adjust_scheduler the calls while gradients were added
  // up.
  std::int64_t step_count() const { return state_.step_count; }

  const SchedulerState& state() const { return state_; }
  // Throws std::invalid_argument for a negative count, or one beyond total_steps.
  void set_state(const SchedulerState& state);

 private:
  bool is_over() const { return total_steps_ && state_.last_epoch >= *total_steps_; }
  void advance();

  std::optional<std::int64_t> total_steps_;
  SchedulerState state_;
};

}  // namespace accel
