#pragma once

#include "runtime/core/schedule_counter.h"

namespace accel::runtime {

// A prepared scheduler as checkpoints see it, whether it is accel's or LibTorch's.
class CheckpointedScheduler {
 public:
  virtual ~CheckpointedScheduler() = default;

  virtual SchedulerState state() const = 0;
  // Called after the optimizer's learning rates are loaded. Throws std::invalid_argument for counts
  // that this scheduler cannot have.
  virtual void set_state(const SchedulerState& state) = 0;
};

}  // namespace accel::runtime
