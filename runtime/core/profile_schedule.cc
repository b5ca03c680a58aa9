#include "runtime/core/profile_schedule.h"

#include <stdexcept>
#include <string>

namespace accel::runtime {

void check_schedule(const ProfileSchedule& schedule) {
  const struct {
    const char* name;
    std::int64_t value, least;
  } numbers[] = {{"wait", schedule.wait, 0},
                 {"warmup", schedule.warmup, 0},
                 {"active", schedule.active, 1},
                 {"repeat", schedule.repeat, 0},
                 {"skip_first", schedule.skip_first, 0}};
  for (const auto& [name, value, least] : numbers) {
    if (value >= least) continue;
    throw std::invalid_argument("the profiler's schedule has " + std::string(name) + " = " +
                                std::to_string(value) + ", which should be at least " +
                                std::to_string(least));
  }
}

ProfileAction action_at(const ProfileSchedule& schedule, std::int64_t step) {
  step -= schedule.skip_first;
  if (step < 0) return ProfileAction::kNone;
  const std::int64_t cycle = schedule.wait + schedule.warmup + schedule.active;
  if (schedule.repeat > 0 && step / cycle >= schedule.repeat) return ProfileAction::kNone;
  step %= cycle;
  if (step < schedule.wait) return ProfileAction::kNone;
  if (step < schedule.wait + schedule.warmup) return ProfileAction::kWarmup;
  return step < cycle - 1 ? ProfileAction::kRecord : ProfileAction::kRecordAndSave;
}

}  // namespace accel::runtime
