#pragma once

#include "runtime/core/scheduler_steps.h"

namespace accel {

// What checkpoints save of a prepared scheduler, whoever made it.
class PreparedScheduler {
 public:
  virtual ~PreparedScheduler() = default;

  virtual SchedulerState state() const = 0;
  // After the optimizer has its rates. Throws std::invalid_argument for counts that this scheduler
  // cannot have.
  virtual void set_state(const SchedulerState& state) = 0;
};

}  // namespace accel
