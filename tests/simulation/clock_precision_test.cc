#include "tests/simulation/clock_precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/simulated_clock.h"
#include "tests/simulation/host_clock.h"

namespace accel::simulation {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);
const absl::Time kStart = absl::UnixEpoch() + absl::Hours(1);

TEST(ClockPrecision, TheFastestMessageOfEachDirectionCounts) {
  ClockPrecision precision;
  EXPECT_EQ(precision.At(kStart).stream, 0u);
  precision.Begin(7, kStart);
  precision.CameUp(2 * kSecond, kStart + kSecond);
  precision.CameUp(5 * kSecond, kStart + 2 * kSecond);
  precision.WentDown(kSecond, kStart + 3 * kSecond);
  EXPECT_EQ(precision.At(kStart).too_late, absl::InfiniteDuration());
  EXPECT_EQ(precision.At(kStart + kSecond).too_late, 2 * kSecond);
  EXPECT_EQ(precision.At(kStart + kSecond).too_early, absl::InfiniteDuration());
  EXPECT_EQ(precision.At(kStart + 3 * kSecond).too_early, kSecond);
  EXPECT_EQ(precision.At(kStart + 3 * kSecond).stream, 7u);
}

TEST(ClockPrecision, BecomesWorseWithTime) {
  ClockPrecision precision;
  precision.Begin(1, kStart);
  precision.CameUp(kSecond, kStart);
  EXPECT_EQ(precision.At(kStart + 5'000 * kSecond).too_late, 2 * kSecond);
  precision.CameUp(1.5 * kSecond, kStart + 5'000 * kSecond);
  EXPECT_EQ(precision.At(kStart + 5'000 * kSecond).too_late, 1.5 * kSecond);
}

TEST(ClockPrecision, ANewStreamKnowsNothing) {
  ClockPrecision precision;
  precision.Begin(1, kStart);
  precision.CameUp(kSecond, kStart);
  precision.Begin(2, kStart + kSecond);
  EXPECT_EQ(precision.At(kStart + kSecond).too_late, absl::InfiniteDuration());
  EXPECT_EQ(precision.At(kStart).too_late, kSecond);
}

TEST(HostClock, NoTwoHostsAgree) {
  common::SimulatedClock time;
  HostClock one(1, &time);
  HostClock two(2, &time);
  const absl::Duration before = one.Now() - two.Now();
  EXPECT_GT(absl::AbsDuration(before), kSecond);
  time.Advance(absl::Hours(10));
  const absl::Duration drift = one.Now() - two.Now() - before;
  EXPECT_GT(absl::AbsDuration(drift), absl::Milliseconds(1));
  EXPECT_LT(absl::AbsDuration(drift), absl::Hours(10) / 10'000);
  one.Reboot();
  EXPECT_LT(one.Now(), absl::UnixEpoch() + absl::Minutes(1));
}

}  // namespace
}  // namespace accel::simulation
