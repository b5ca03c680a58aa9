// Which steps of a loop are profiled. Pure.
#pragma once

#include <cstdint>

#include "accel/options.h"

namespace accel {

enum class ProfileAction {
  kNone,
  kWarmup,
  kRecord,
  kRecordAndSave,  // The last step of a cycle.
};

// Throws std::invalid_argument that names the number that is out of range.
void check_schedule(const ProfileSchedule& schedule);

// For step >= 0 of a schedule that is in order.
ProfileAction action_at(const ProfileSchedule& schedule, std::int64_t step);

}  // namespace accel
