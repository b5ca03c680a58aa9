#include "runtime/core/schedule_counter.h"

#include <stdexcept>
#include <string>

namespace accel::runtime {

void ScheduleCounter::step(const SchedulerOptions& options, bool sync_gradients,
                           bool step_was_skipped) {
  if (!options.step_with_optimizer) {
    if (is_over()) {
      throw std::out_of_range("step() was called after the last of the schedule's " +
                              std::to_string(*total_steps_) + " steps");
    }
    advance();
    return;
  }
  if (!sync_gradients) {
    if (options.adjust_scheduler) ++state_.step_count;
    return;
  }
  if (step_was_skipped) return;
  const bool once = options.split_batches || options.unit == SchedulerUnit::kOptimizerSteps;
  const int steps = once ? 1 : options.data_parallel_size;
  for (int i = 0; i < steps && !is_over(); ++i) advance();
}

void ScheduleCounter::advance() {
  ++state_.last_epoch;
  ++state_.step_count;
}

void ScheduleCounter::set_state(const SchedulerState& state) {
  if (state.last_epoch < 0 || state.step_count < 0 ||
      (total_steps_ && state.last_epoch > *total_steps_)) {
    throw std::invalid_argument(
        "invalid schedule state: " + std::to_string(state.last_epoch) + " steps" +
        (total_steps_ ? " of " + std::to_string(*total_steps_) : std::string()) + ", step_count " +
        std::to_string(state.step_count));
  }
  state_ = state;
}

}  // namespace accel::runtime
