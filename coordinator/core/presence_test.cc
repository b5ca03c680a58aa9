// What follows from an absence is tested in coordinator/absence_test.cc.

#include "coordinator/core/presence.h"

#include <gtest/gtest.h>

namespace accel::coordinator {
namespace {

// Returns the absence that a coordinator sees if it does not listen for this long.
absl::Duration Away(absl::Duration gap, size_t nodes) {
  ClusterState state;
  GrowForNodes(nodes, &state);
  state.listened_at = absl::UnixEpoch() + absl::Hours(1);
  return Listen(state.listened_at + gap, &state);
}

TEST(PresenceTest, ALongGapIsAnAbsence) {
  EXPECT_EQ(Away(absl::Milliseconds(750), 1), absl::ZeroDuration());
  EXPECT_EQ(Away(absl::Milliseconds(751), 1), absl::Milliseconds(751));
}

TEST(PresenceTest, WithMoreNodesItMayWorkLonger) {
  EXPECT_EQ(Away(absl::Milliseconds(7'500), 10'000), absl::ZeroDuration());
  EXPECT_EQ(Away(absl::Milliseconds(7'501), 10'000), absl::Milliseconds(7'501));
}

// A commit may take long, and a start is only sent after it.
TEST(PresenceTest, StartsGetTheirTimeAtAnyNumberOfNodes) {
  ClusterState state;
  GrowForNodes(10'000, &state);
  const common::JobId job("j");
  const absl::Time deadline = absl::UnixEpoch() + absl::Hours(2);
  state.jobs[job].start_by = deadline;
  state.unfinished.Insert(job, "user");
  state.listened_at = absl::UnixEpoch() + absl::Hours(1);
  EXPECT_EQ(Listen(state.listened_at + absl::Seconds(5), &state), absl::ZeroDuration());
  EXPECT_EQ(state.jobs[job].start_by - deadline, absl::Seconds(5));
}

}  // namespace
}  // namespace accel::coordinator
