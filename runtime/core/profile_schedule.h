// Decides which steps of a loop the profiler records. Pure functions of the step's number.
#pragma once

#include <cstdint>

#include "accel/options.h"

namespace accel::runtime {

// The profiler's task in one step.
enum class ProfileAction {
  kNone,
  kWarmup,
  kRecord,
  kRecordAndSave,  // The last step of a cycle, after which its trace is saved.
};

// Throws std::invalid_argument, naming the number, if one is out of range.
void check_schedule(const ProfileSchedule& schedule);

// Returns what to do in step `step` >= 0. Requires a schedule that check_schedule() accepts.
ProfileAction action_at(const ProfileSchedule& schedule, std::int64_t step);

}  // namespace accel::runtime
