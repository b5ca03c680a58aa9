#pragma once

#include "runtime/core/schedule_counter.h"

namespace accel {

// What checkpoints save of a prepared scheduler, whoever made it.
class CheckpointedScheduler {
 public:
  virtual ~CheckpointedScheduler() = default;

  virtual SchedulerState state() const = 0;
  // After the optimizer has its rates. Throws std::invalid_argument for counts that this scheduler
  // cannot have.
  virtual void set_state(const SchedulerState& state) = 0;
};

}  // namespace accel
