#include "coordinator/core/recover_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "coordinator/core/counting.h"

namespace accel::coordinator {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr absl::Duration kYear = absl::Hours(24 * 365);

class RecoverTimesTest : public ::testing::Test {
 protected:
  RecoverTimesTest() {
    const int64_t at = absl::ToUnixMicros(now_);
    stored_.set_start_by_us(at + 50'000'000);
    stored_.set_end_by_us(at + 80'000'000);
    stored_.set_not_before_us(at + 3'000'000);
    stored_.set_started_us(at - 10'000'000);
    stored_.set_failed_earliest_us(at - 2'000'000);
    stored_.set_failed_latest_us(at - 1'000'000);
    stored_.add_failures_us(at - 8'000'000);
    stored_.add_membership_changes_us(at - 9'000'000);
  }

  // Returns the times after a start at which the clocks differ by `shift`.
  JobEntry Recovered(absl::Duration shift) const {
    JobEntry entry;
    entry.job.mutable_spec()->set_time_limit_ms(100'000);
    ReadTimes(stored_, shift, &entry);
    LimitTimes(state_, now_, &entry);
    return entry;
  }

  const absl::Time now_ = absl::UnixEpoch() + absl::Hours(2);
  v1::StoredJob stored_;
  ClusterState state_;
};

TEST_F(RecoverTimesTest, ThePresentClockChangesNothing) {
  const JobEntry entry = Recovered(absl::ZeroDuration());
  EXPECT_EQ(entry.start_by, now_ + absl::Seconds(50));
  EXPECT_EQ(entry.end_by, now_ + absl::Seconds(80));
  EXPECT_EQ(entry.not_before, now_ + absl::Seconds(3));
  EXPECT_EQ(entry.explain_at, now_ + kExplainAfter);
  EXPECT_EQ(entry.started, now_ - absl::Seconds(10));
  EXPECT_EQ(entry.failed.earliest, now_ - absl::Seconds(2));
  EXPECT_EQ(entry.failed.latest, now_ - absl::Seconds(1));
  EXPECT_THAT(entry.history.failures, ElementsAre(now_ - absl::Seconds(8)));
  EXPECT_THAT(entry.history.membership_changes, ElementsAre(now_ - absl::Seconds(9)));
}

TEST_F(RecoverTimesTest, TimesThatAreNotStoredRemainUnset) {
  stored_ = {};
  const JobEntry entry = Recovered(kYear);
  EXPECT_EQ(entry.start_by, absl::InfiniteFuture());
  EXPECT_EQ(entry.end_by, absl::InfiniteFuture());
  EXPECT_EQ(entry.not_before, absl::InfinitePast());
  EXPECT_EQ(entry.started, absl::Time());
  EXPECT_EQ(entry.failed.latest, absl::Time());
  EXPECT_TRUE(entry.history.failures.empty());
}

TEST_F(RecoverTimesTest, NoDeadlineIsFurtherAwayThanWhenItWasSet) {
  const JobEntry entry = Recovered(kYear);
  EXPECT_EQ(entry.start_by, now_ + state_.limits.start_deadline);
  EXPECT_EQ(entry.end_by, now_ + absl::Seconds(100));
  EXPECT_EQ(entry.not_before, now_ + state_.limits.longest_restart_pause);
}

TEST_F(RecoverTimesTest, NothingHasHappenedInTheFuture) {
  const JobEntry entry = Recovered(kYear);
  for (const absl::Time past : {entry.started, entry.failed.earliest, entry.failed.latest}) {
    EXPECT_EQ(past, now_);
  }
  EXPECT_THAT(entry.history.failures, Each(now_));
  EXPECT_THAT(entry.history.membership_changes, Each(now_));
}

TEST_F(RecoverTimesTest, AStartWaitsUntilTheNodesCanBeBack) {
  const absl::Time back = now_ + state_.limits.longest_reconnect + NodeTimeout(state_);
  EXPECT_EQ(Recovered(-kYear).start_by, back);
  state_.limits.start_deadline = absl::Seconds(1);
  EXPECT_EQ(Recovered(kYear).start_by, back);
}

}  // namespace
}  // namespace accel::coordinator
