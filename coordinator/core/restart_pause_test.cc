#include "coordinator/core/restart_pause.h"

#include <gtest/gtest.h>

#include <limits>

namespace accel::coordinator {
namespace {

TEST(RestartPause, DoublesUpToABound) {
  const Limits limits;
  const std::vector<int64_t> expected = {0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60};
  for (size_t failures = 0; failures < expected.size(); ++failures) {
    EXPECT_EQ(RestartPause(limits, static_cast<int>(failures)), absl::Seconds(expected[failures]))
        << failures;
  }
  EXPECT_EQ(RestartPause(limits, std::numeric_limits<int>::max()), limits.longest_restart_pause);
}

TEST(RestartPause, AGenerationThatRanLongEnoughResetsTheCount) {
  const Limits limits;
  const absl::Time started = absl::UnixEpoch();
  EXPECT_EQ(CountQuickFailure(limits, 0, started, started), 1);
  EXPECT_EQ(CountQuickFailure(limits, 6, started, started + absl::Seconds(9)), 7);
  EXPECT_EQ(CountQuickFailure(limits, 6, started, started + absl::Seconds(10)), 1);
}

}  // namespace
}  // namespace accel::coordinator
