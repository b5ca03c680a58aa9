// Which steps of a loop are profiled. Pure.
#pragma once

#include <cstdint>

namespace accel {

// As torch.profiler.schedule(): pass over `skip_first` steps; then, in cycles, wait, let the
// profiler warm up without keeping what it sees, and record.
struct ProfileSchedule {
  std::int64_t wait = 0;
  std::int64_t warmup = 0;
  std::int64_t active = 1;  // At least 1.
  // Cycles; 0: until the end.
  std::int64_t repeat = 0;
  std::int64_t skip_first = 0;
};

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
