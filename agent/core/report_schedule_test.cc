#include "agent/core/report_schedule.h"

#include <gtest/gtest.h>

namespace accel::agent {
namespace {

constexpr absl::Duration kHold = ReportSchedule::kLongestHold;
constexpr absl::Duration kHeartbeat = absl::Seconds(1);

class ReportScheduleTest : public ::testing::Test {
 protected:
  ReportScheduleTest() { schedule_.Sent(1, now_, kHeartbeat); }

  const absl::Time now_ = absl::UnixEpoch();
  ReportSchedule schedule_;
};

TEST(UntilHeartbeatTest, HeartbeatsEndOnABeat) {
  const absl::Time beat = absl::UnixEpoch() + absl::Hours(500'000);
  const auto until = [beat](int64_t after_beat, int64_t longest) {
    return UntilHeartbeat(beat + absl::Milliseconds(after_beat), absl::Milliseconds(longest)) /
           absl::Milliseconds(1);
  };
  EXPECT_EQ(until(0, 1200), 1200);
  EXPECT_EQ(until(1, 1200), 1199);
  EXPECT_EQ(until(99, 1200), 1101);
  EXPECT_EQ(until(30, 1250), 1170);
  EXPECT_EQ(until(30, 200), 170);
  EXPECT_EQ(until(30, 199), 199);  // Shorter than two beats.
  EXPECT_EQ(UntilHeartbeat(beat, absl::InfiniteDuration()), absl::InfiniteDuration());
}

TEST_F(ReportScheduleTest, TheFirstReportIsDue) {
  EXPECT_EQ(ReportSchedule().Due(1), absl::InfinitePast());
  EXPECT_FALSE(ReportSchedule().MayWait(1));
}

TEST_F(ReportScheduleTest, AChangeIsDueAndOtherwiseAHeartbeat) {
  EXPECT_EQ(schedule_.Due(1), now_ + kHeartbeat);
  EXPECT_EQ(schedule_.Due(2), absl::InfinitePast());
  EXPECT_FALSE(schedule_.MayWait(2));
}

TEST_F(ReportScheduleTest, AHeldStateWaitsUntilItChangesOrItsTimeIsOver) {
  schedule_.Hold(2, now_);
  EXPECT_TRUE(schedule_.MayWait(2));
  EXPECT_EQ(schedule_.Due(2), now_ + kHold);
  EXPECT_EQ(schedule_.Due(3), absl::InfinitePast());
}

TEST_F(ReportScheduleTest, TheTimeOfTheFirstHoldCounts) {
  schedule_.Hold(2, now_);
  schedule_.Hold(3, now_ + kHold / 2);
  EXPECT_EQ(schedule_.Due(3), now_ + kHold);
  schedule_.Sent(3, now_ + kHold, kHeartbeat);
  schedule_.Hold(4, now_ + 2 * kHold);
  EXPECT_EQ(schedule_.Due(4), now_ + 3 * kHold);
}

TEST_F(ReportScheduleTest, NothingToReportBeginsNoHold) {
  schedule_.Hold(1, now_);
  schedule_.Hold(2, now_ + kHold);
  EXPECT_EQ(schedule_.Due(2), now_ + 2 * kHold);
}

TEST_F(ReportScheduleTest, NoHoldDelaysAHeartbeatOrANewSession) {
  schedule_.Hold(2, now_ + kHeartbeat - kHold / 2);
  EXPECT_EQ(schedule_.Due(2), now_ + kHeartbeat);
  schedule_.StartSession();
  EXPECT_EQ(schedule_.Due(2), absl::InfinitePast());
  EXPECT_EQ(schedule_.Due(1), absl::InfinitePast());
}

}  // namespace
}  // namespace accel::agent
