#include "coordinator/clock_jumps.h"

#include <gtest/gtest.h>

namespace accel::coordinator {
namespace {

TEST(ClockJumps, AreNoticedOnceInBothDirections) {
  const absl::Duration kYear = absl::Hours(24 * 365);
  absl::Time steady = absl::UnixEpoch() + absl::Hours(1);
  absl::Time wall = absl::FromUnixSeconds(1'800'000'000);
  ClockJumps jumps;
  const auto look = [&] { return jumps.Note(steady, wall); };
  EXPECT_EQ(look(), std::nullopt);
  for (const absl::Duration by : {kYear, -2 * kYear, absl::Minutes(1), -absl::Minutes(1)}) {
    steady += absl::Seconds(1);
    wall += absl::Seconds(1) + by;
    EXPECT_EQ(look(), by);
    EXPECT_EQ(look(), std::nullopt);
  }
}

TEST(ClockJumps, TimeThatPassesAndCorrectionsOfSecondsAreNone) {
  absl::Time steady = absl::UnixEpoch() + absl::Hours(1);
  absl::Time wall = absl::FromUnixSeconds(1'800'000'000);
  ClockJumps jumps;
  for (int i = 0; i < 1000; ++i) {
    steady += absl::Hours(i);
    wall += absl::Hours(i) + absl::Seconds(5);
    EXPECT_EQ(jumps.Note(steady, wall), std::nullopt);
  }
}

}  // namespace
}  // namespace accel::coordinator
