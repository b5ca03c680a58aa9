#include "tests/simulation/host_clock.h"

namespace accel::simulation {
namespace {

// Two hosts differ by less than the 100 ppm that coordinator/core/node_clock.cc allows.
constexpr int kMaxDriftPpm = 45;
constexpr int kMostDaysUp = 30;
constexpr int kMostWallErrorSeconds = 86'400;
// How long a boot takes.
constexpr absl::Duration kBoot = absl::Seconds(20);

}  // namespace

HostClock::HostClock(uint32_t seed, common::Clock* time) : time_(time), at_(time->Now()) {
  std::mt19937 random(seed);
  const auto between = [&random](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  drift_ppm_ = between(-kMaxDriftPpm, kMaxDriftPpm);
  shows_ = absl::UnixEpoch() + absl::Seconds(between(1, kMostDaysUp * 86'400));
  wall_error_ = absl::Seconds(between(-kMostWallErrorSeconds, kMostWallErrorSeconds));
}

absl::Time HostClock::Now() {
  const absl::Duration passed = time_->Now() - at_;
  return shows_ + passed + passed * drift_ppm_ / 1'000'000;
}

void HostClock::Reboot() {
  shows_ = absl::UnixEpoch() + kBoot;
  at_ = time_->Now();
}

}  // namespace accel::simulation
