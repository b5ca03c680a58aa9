#include "coordinator/core/node_clock.h"

#include <gtest/gtest.h>

namespace accel::coordinator {
namespace {

// The node's clock shows an hour less than ours.
constexpr absl::Duration kOffset = absl::Hours(1);
const absl::Time kStart = absl::UnixEpoch() + absl::Hours(5);

int64_t OnNode(absl::Time ours) { return absl::ToUnixMicros(ours - kOffset); }

v1::NodeObserved MadeAt(absl::Time ours, uint64_t answers = 0, absl::Time answered = {}) {
  v1::NodeObserved report;
  report.set_made_us(OnNode(ours));
  if (answers == 0) return report;
  report.set_applied_version(answers);
  report.set_answered_us(OnNode(answered));
  return report;
}

TimeRange WhenOnNode(const NodeClock& clock, absl::Time ours, absl::Time now) {
  return clock.When(absl::FromUnixMicros(OnNode(ours)), now);
}

TEST(NodeClock, WithoutMessagesNothingIsKnown) {
  const TimeRange range = WhenOnNode(NodeClock(), kStart, kStart);
  EXPECT_EQ(range.earliest, absl::InfinitePast());
  EXPECT_EQ(range.latest, absl::InfiniteFuture());
}

TEST(NodeClock, TheFastestMessageOfEachDirectionCounts) {
  NodeClock clock;
  const absl::Duration ms = absl::Milliseconds(1);
  clock.Heard(MadeAt(kStart), kStart + 3 * ms);
  // A report that is 2 s late, and an answer that took 2 s to arrive, change nothing.
  clock.Heard(MadeAt(kStart), kStart + absl::Seconds(2));
  clock.Sent(7, kStart);
  clock.Heard(MadeAt(kStart + 9 * ms, 7, kStart + 5 * ms), kStart + 12 * ms);
  clock.Sent(8, kStart + 20 * ms);
  const absl::Time late = kStart + absl::Seconds(2);
  clock.Heard(MadeAt(late, 8, late), late + 30 * ms);
  const TimeRange range = WhenOnNode(clock, kStart, kStart + 12 * ms);
  EXPECT_NEAR(absl::ToDoubleMilliseconds(range.earliest - kStart), -5, 0.1);
  EXPECT_NEAR(absl::ToDoubleMilliseconds(range.latest - kStart), 3, 0.1);
}

TEST(NodeClock, OnlyTheAnswerToTheLastDesiredStateCounts) {
  NodeClock clock;
  clock.Sent(7, kStart);
  clock.Sent(8, kStart + absl::Seconds(1));
  // An answer to version 7 says nothing about the way of version 8.
  clock.Heard(MadeAt(kStart + absl::Seconds(1), 7, kStart), kStart + absl::Seconds(1));
  EXPECT_EQ(WhenOnNode(clock, kStart, kStart).earliest, absl::InfinitePast());
}

TEST(NodeClock, BoundsBecomeLooserWithTime) {
  NodeClock clock;
  clock.Sent(7, kStart);
  clock.Heard(MadeAt(kStart, 7, kStart), kStart);
  const absl::Time later = kStart + absl::Seconds(10'000);
  const TimeRange range = WhenOnNode(clock, later, later);
  EXPECT_EQ(range.latest - range.earliest, absl::Seconds(2));
  EXPECT_FALSE(clock.NeedsAnswer(kStart + absl::Seconds(59)));
  EXPECT_TRUE(clock.NeedsAnswer(kStart + absl::Seconds(60)));
}

// A node that was suspended for a minute: its clock stood still.
TEST(NodeClock, BoundsThatContradictEachOtherAreDropped) {
  NodeClock clock;
  clock.Sent(7, kStart);
  clock.Heard(MadeAt(kStart, 7, kStart), kStart);
  const absl::Time shown = kStart + absl::Seconds(1);
  const absl::Time now = shown + absl::Minutes(1);
  clock.Sent(8, now);
  clock.Heard(MadeAt(shown, 8, shown), now);
  const TimeRange range = WhenOnNode(clock, shown, now);
  EXPECT_EQ(range.earliest, absl::InfinitePast());
  EXPECT_EQ(range.latest, now);
}

TEST(NodeClock, TimesThatCannotBeAreIgnored) {
  NodeClock clock;
  clock.Sent(7, kStart);
  v1::NodeObserved report = MadeAt(kStart, 7, kStart + absl::Seconds(1));
  clock.Heard(report, kStart);  // It answered before the answer arrived.
  report.set_made_us(-5);
  clock.Heard(report, kStart);
  EXPECT_EQ(WhenOnNode(clock, kStart, kStart).latest, absl::InfiniteFuture());
  report.set_made_us(INT64_MAX);
  report.set_answered_us(1);
  clock.Heard(report, kStart);
  EXPECT_LE(WhenOnNode(clock, kStart, kStart).earliest, WhenOnNode(clock, kStart, kStart).latest);
}

}  // namespace
}  // namespace accel::coordinator
