#include "coordinator/core/node_health.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace accel::coordinator {
namespace {

const absl::Time kNow = absl::UnixEpoch() + absl::Hours(1);

TEST(NodeHealth, ThreeFailuresInARowOfSeveralJobsExcludeTheNode) {
  NodeHealth health;
  NoteFailedStart(common::JobId("a"), "no shim.", kNow, &health);
  NoteFailedStart(common::JobId("b"), "no shim.", kNow, &health);
  EXPECT_FALSE(IsExcluded(health, kNow));
  NoteFailedStart(common::JobId("c"), "no shim.", kNow, &health);
  EXPECT_TRUE(IsExcluded(health, kNow));
  EXPECT_EQ(WhyExcluded(health),
            "its last 3 starts failed, the newest, of job c, because: no shim");
  EXPECT_TRUE(IsExcluded(health, kNow + absl::Seconds(9.9)));
  EXPECT_FALSE(IsExcluded(health, kNow + absl::Seconds(10)));
  EXPECT_TRUE(IsOnTrial(health));
}

TEST(NodeHealth, OneJobAloneExcludesNoNode) {
  NodeHealth health;
  for (int i = 0; i < 100; ++i) NoteFailedStart(common::JobId("a"), "too large", kNow, &health);
  EXPECT_FALSE(IsExcluded(health, kNow));
  EXPECT_FALSE(IsOnTrial(health));
  NoteFailedStart(common::JobId("b"), "no shim", kNow, &health);
  EXPECT_TRUE(IsExcluded(health, kNow));
}

TEST(NodeHealth, EachTrialThatFailsExcludesItForTwiceAsLong) {
  NodeHealth health;
  for (const char* job : {"a", "b", "c", "d", "e"}) {
    NoteFailedStart(common::JobId(job), "no shim", kNow, &health);
  }
  EXPECT_EQ(health.excluded_until, kNow + absl::Seconds(10));
  absl::Time now = kNow;
  for (const int64_t seconds : {20, 40, 80, 160, 300, 300, 300}) {
    now = health.excluded_until;
    NoteFailedStart(common::JobId("a"), "no shim", now, &health);
    EXPECT_EQ(health.excluded_until - now, absl::Seconds(seconds));
  }
}

TEST(NodeHealth, ReasonsAreBounded) {
  NodeHealth health;
  NoteFailedStart(common::JobId("a"), std::string(255, 'x') + "\u00e9" + std::string(10'000, 'y'),
                  kNow, &health);
  EXPECT_EQ(health.newest_reason, std::string(255, 'x') + "...");
}

}  // namespace
}  // namespace accel::coordinator
