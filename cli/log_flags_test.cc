#include "cli/log_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(LogFlagsTest, RanksAreNumbersAndRanges) {
  EXPECT_THAT(*ParseRanks("3"), ElementsAre(Pair(3, 3)));
  EXPECT_THAT(*ParseRanks("0-7,12"), ElementsAre(Pair(0, 7), Pair(12, 12)));
  for (const char* wrong : {"", "-", "-1", "3-", "7-3", "1,", "a", "1-2-3", "99999999999"}) {
    EXPECT_FALSE(ParseRanks(wrong).ok()) << wrong;
  }
}

TEST(LogFlagsTest, SinceIsADurationOrATime) {
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  const absl::TimeZone zone = absl::FixedTimeZone(3600);
  EXPECT_EQ(*ParseSince("90", now, zone), now - absl::Seconds(90));
  EXPECT_EQ(*ParseSince("10m", now, zone), now - absl::Minutes(10));
  EXPECT_EQ(*ParseSince("2d", now, zone), now - absl::Hours(48));
  const absl::Time time = absl::FromUnixSeconds(1767323045);  // 2026-01-02 03:04:05 UTC
  EXPECT_EQ(*ParseSince("2026-01-02T03:04:05Z", now, zone), time);
  EXPECT_EQ(*ParseSince("2026-01-02T04:04:05+01:00", now, zone), time);
  EXPECT_EQ(*ParseSince("2026-01-02 04:04:05", now, zone), time);
  EXPECT_EQ(*ParseSince("2026-01-02T04:04", now, zone), time - absl::Seconds(5));
  for (const char* wrong : {"", "0", "-5m", "yesterday", "2026-13-01", "10 parsecs"}) {
    EXPECT_THAT(ParseSince(wrong, now, zone), testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                                                ::testing::HasSubstr("must be")))
        << wrong;
  }
}

}  // namespace
}  // namespace accel::cli
