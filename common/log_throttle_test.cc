#include "common/log_throttle.h"

#include <gtest/gtest.h>

namespace accel::common {
namespace {

TEST(LogThrottle, TheFirstThenOneEachPauseWithTheCountBetween) {
  LogThrottle throttle(absl::Minutes(1));
  const absl::Time start = absl::UnixEpoch();
  EXPECT_EQ(throttle.Admit(start), 0);
  EXPECT_EQ(throttle.Admit(start + absl::Seconds(1)), std::nullopt);
  EXPECT_EQ(throttle.Admit(start + absl::Seconds(59)), std::nullopt);
  EXPECT_EQ(throttle.Admit(start + absl::Seconds(60)), 2);
  EXPECT_EQ(throttle.Admit(start + absl::Seconds(61)), std::nullopt);
  EXPECT_EQ(throttle.Admit(start + absl::Hours(1)), 1);
}

}  // namespace
}  // namespace accel::common
