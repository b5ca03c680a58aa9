// The clocks of a simulated host. Its monotonic clock starts again at each boot, and is a little
// too fast or too slow. Its wall clock is wrong by any time, and can be set. No two hosts agree.
#pragma once

#include <cstdint>
#include <random>

#include "absl/time/time.h"
#include "common/clock.h"

namespace accel::simulation {

// The monotonic clock. Not thread-safe.
class HostClock final : public common::Clock {
 public:
  // `time` is the true time. It must outlive this object. The host has been up for some days.
  HostClock(uint32_t seed, common::Clock* time);

  absl::Time Now() override;
  // Returns the time of the wall clock.
  absl::Time Wall() { return time_->Now() + wall_error_; }
  // Sets the wall clock ahead, or back.
  void SetWall(absl::Duration by) { wall_error_ += by; }
  void Reboot();

 private:
  common::Clock* const time_;
  int64_t drift_ppm_;
  absl::Time shows_;  // What it showed at `at_`.
  absl::Time at_;
  absl::Duration wall_error_;
};

}  // namespace accel::simulation
