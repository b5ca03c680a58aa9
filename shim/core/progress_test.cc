#include "shim/core/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "absl/time/time.h"

namespace accel::shim {
namespace {

// Ranks 0 and 1 with a hang timeout of 8 s, so that Progress looks once a second.
class ProgressTest : public ::testing::Test {
 protected:
  // Lets time pass. Each rank of `beating` sends a beat every `step`.
  void Pass(absl::Duration time, const std::vector<int>& beating = {},
            absl::Duration step = absl::Milliseconds(100)) {
    const absl::Time until = now_ + time;
    absl::Time beat_at = now_ + step;
    while (now_ < until && !found_) {
      now_ =
          std::max(now_, std::min({until, progress_.look_at(), beating.empty() ? until : beat_at}));
      if (!beating.empty() && now_ == beat_at) {
        for (const int rank : beating) progress_.Beat(rank, now_);
        beat_at += step;
      }
      if (now_ < progress_.look_at()) continue;
      found_ = progress_.Look(now_, [this](int rank) { return states_[rank]; });
    }
  }
  // Lets time pass in which neither this process nor the ranks run.
  void StandStill(absl::Duration time) { now_ += time; }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  Progress progress_{absl::Seconds(8), {0, 1}, now_};
  std::map<int, char> states_ = {{0, 'S'}, {1, 'S'}};
  std::optional<Hang> found_;
};

TEST_F(ProgressTest, ARankThatNeverBeatsIsLeftAlone) {
  Pass(absl::Hours(1));
  EXPECT_FALSE(found_);
}

TEST_F(ProgressTest, ARankThatBeatsIsLeftAlone) {
  Pass(absl::Hours(1), {0, 1}, absl::Seconds(7));
  EXPECT_FALSE(found_);
}

TEST_F(ProgressTest, SilenceForTheTimeoutIsAHang) {
  Pass(absl::Seconds(10), {0, 1});
  const absl::Time last = now_;
  Pass(absl::Seconds(7), {0});
  EXPECT_FALSE(found_);
  Pass(absl::Seconds(3), {0});
  ASSERT_TRUE(found_);
  EXPECT_EQ(found_->rank, 1);
  EXPECT_EQ(found_->last_beat, last);
  EXPECT_GE(found_->silence, absl::Seconds(8));
  EXPECT_LE(found_->silence, absl::Seconds(9));
  EXPECT_EQ(found_->state, 'S');
}

TEST_F(ProgressTest, BeatsOfOneRankDoNotPutOffTheLook) {
  Pass(absl::Seconds(10), {0, 1});
  Pass(absl::Seconds(10), {0}, absl::Milliseconds(1));
  ASSERT_TRUE(found_);
  EXPECT_EQ(found_->rank, 1);
}

TEST_F(ProgressTest, AStepThatIsLongerThanTheTimeoutIsNoHang) {
  Pass(absl::Seconds(100), {0, 1}, absl::Seconds(50));
  Pass(absl::Seconds(149));
  EXPECT_FALSE(found_);
  Pass(absl::Seconds(3));
  EXPECT_TRUE(found_);
}

TEST_F(ProgressTest, TheFirstStepMayBeAsLongAsTheStartSuggests) {
  Pass(absl::Seconds(30));
  progress_.Beat(0, now_);
  Pass(absl::Seconds(89));
  EXPECT_FALSE(found_);
  Pass(absl::Seconds(3));
  ASSERT_TRUE(found_);
}

TEST_F(ProgressTest, FromTheSecondBeatOnTheStartDoesNotCount) {
  Pass(absl::Seconds(30));
  progress_.Beat(0, now_);
  Pass(absl::Seconds(1));
  progress_.Beat(0, now_);
  Pass(absl::Seconds(10));
  EXPECT_TRUE(found_);
}

TEST_F(ProgressTest, TheEarliestLastBeatIsNamed) {
  Pass(absl::Milliseconds(10'500), {0, 1});  // Both are over their limits at the same look.
  Pass(absl::Milliseconds(200), {0});
  Pass(absl::Seconds(20));
  ASSERT_TRUE(found_);
  EXPECT_EQ(found_->rank, 1);
}

TEST_F(ProgressTest, AStoppedRankIsNamedBeforeOneThatWaitsForIt) {
  Pass(absl::Seconds(10), {0, 1});
  Pass(absl::Milliseconds(200), {1});
  states_[1] = 'T';
  Pass(absl::Seconds(20));
  ASSERT_TRUE(found_);
  EXPECT_EQ(found_->rank, 1);
  EXPECT_EQ(found_->state, 'T');
}

TEST_F(ProgressTest, AStoppedRankNeedNotHaveSentBeats) {
  Pass(absl::Seconds(10), {0});
  states_[1] = 't';
  Pass(absl::Seconds(20));
  ASSERT_TRUE(found_);
  EXPECT_EQ(found_->rank, 1);
  EXPECT_FALSE(found_->last_beat);
  EXPECT_GE(found_->silence, absl::Seconds(8));
}

TEST_F(ProgressTest, AStopAloneIsNoHangWhileOthersMakeProgress) {
  states_[1] = 'T';
  Pass(absl::Hours(1), {0});
  EXPECT_FALSE(found_);
}

TEST_F(ProgressTest, ARankThatWasStoppedAMomentAgoIsNotTheCause) {
  Pass(absl::Seconds(10), {0, 1});
  Pass(absl::Seconds(6), {1});
  states_[1] = 'T';
  Pass(absl::Seconds(20));
  ASSERT_TRUE(found_);
  EXPECT_EQ(found_->rank, 0);
}

TEST_F(ProgressTest, ARankThatSaysThatItWaitsIsNamedLast) {
  Pass(absl::Seconds(10), {0, 1});
  Pass(absl::Milliseconds(200), {1});  // Rank 0 is silent first.
  progress_.Waits(0);
  progress_.Waits(7);  // No rank of this node.
  Pass(absl::Seconds(20));
  ASSERT_TRUE(found_);
  EXPECT_EQ(found_->rank, 1);
}

TEST_F(ProgressTest, RanksThatAllWaitGetHalfTheLimitMore) {
  Pass(absl::Seconds(10), {0, 1});
  for (const int rank : {0, 1}) progress_.Waits(rank);
  Pass(absl::Seconds(11));
  EXPECT_FALSE(found_);
  Pass(absl::Seconds(3));
  ASSERT_TRUE(found_);
  EXPECT_TRUE(found_->waits);
}

TEST_F(ProgressTest, ABeatEndsAWait) {
  Pass(absl::Seconds(10), {0, 1});
  progress_.Waits(1);
  Pass(absl::Seconds(1), {0, 1});
  Pass(absl::Seconds(10), {0});
  ASSERT_TRUE(found_);
  EXPECT_FALSE(found_->waits);
}

TEST_F(ProgressTest, ARankThatPausesHasNoLimitUntilItsNextBeat) {
  Pass(absl::Seconds(10), {0, 1});
  for (const int rank : {0, 1, 7}) progress_.Pauses(rank);
  Pass(absl::Hours(1));
  EXPECT_FALSE(found_);
  Pass(absl::Seconds(1), {0, 1});
  Pass(absl::Seconds(10));
  ASSERT_TRUE(found_) << "the pause was no long step";
}

// It saves after its first step, whose time includes that of the start.
TEST_F(ProgressTest, APauseDoesNotKeepTheTimeOfTheStartAsThatOfAStep) {
  StandStill(absl::ZeroDuration());
  Pass(absl::Minutes(5));
  for (const int rank : {0, 1}) progress_.Beat(rank, now_);
  for (const int rank : {0, 1}) progress_.Pauses(rank);
  Pass(absl::Minutes(1));
  for (const int rank : {0, 1}) progress_.Beat(rank, now_);
  Pass(absl::Seconds(1), {0, 1});
  Pass(absl::Seconds(20));
  EXPECT_TRUE(found_);
}

TEST_F(ProgressTest, ARankHangsWhileTheOtherPauses) {
  Pass(absl::Seconds(10), {0, 1});
  progress_.Pauses(0);
  Pass(absl::Seconds(10));
  ASSERT_TRUE(found_);
  EXPECT_EQ(found_->rank, 1);
}

TEST_F(ProgressTest, ARankThatHasEndedIsLeftAlone) {
  Pass(absl::Seconds(10), {0, 1});
  states_[1] = 0;
  Pass(absl::Hours(1), {0});
  EXPECT_FALSE(found_);
}

// A frozen container or a paused machine: the ranks stood still as well.
TEST_F(ProgressTest, TimeInWhichNothingRanIsNobodysSilence) {
  Pass(absl::Seconds(10), {0, 1});
  Pass(absl::Seconds(3));
  StandStill(absl::Minutes(10));
  Pass(absl::Seconds(3));
  EXPECT_FALSE(found_);
  Pass(absl::Seconds(3));
  EXPECT_TRUE(found_);
}

TEST_F(ProgressTest, ABeatThatComesAfterAStandstillShowsNoLongStep) {
  Pass(absl::Seconds(10), {0, 1});
  StandStill(absl::Minutes(10));
  for (const int rank : {0, 1}) progress_.Beat(rank, now_);
  Pass(absl::Seconds(7));
  EXPECT_FALSE(found_);
  Pass(absl::Seconds(3));
  EXPECT_TRUE(found_);
}

}  // namespace
}  // namespace accel::shim
