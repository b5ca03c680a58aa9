#include "coordinator/core/restart_pause.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

namespace accel::coordinator {
namespace {

TEST(RestartPause, DoublesUpToABound) {
  Limits limits;
  limits.restart_jitter = 0;
  const std::vector<int64_t> expected = {0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60};
  for (size_t failures = 0; failures < expected.size(); ++failures) {
    EXPECT_EQ(RestartPause(limits, common::JobId("a"), static_cast<int>(failures)),
              absl::Seconds(expected[failures]))
        << failures;
  }
  EXPECT_EQ(RestartPause(limits, common::JobId("a"), std::numeric_limits<int>::max()),
            limits.longest_restart_pause);
}

TEST(RestartPause, JobsThatFailedTogetherComeBackApart) {
  const Limits limits;
  std::set<absl::Duration> pauses;
  for (int i = 0; i < 100; ++i) {
    const common::JobId job("a" + std::to_string(i));
    const absl::Duration pause = RestartPause(limits, job, 5);
    EXPECT_GE(pause, absl::Seconds(8));
    EXPECT_LE(pause, absl::Seconds(10));
    EXPECT_EQ(pause, RestartPause(limits, job, 5));
    pauses.insert(pause);
  }
  EXPECT_GT(pauses.size(), 50u);
}

}  // namespace
}  // namespace accel::coordinator
