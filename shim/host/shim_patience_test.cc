#include "shim/host/shim_patience.h"

#include <gtest/gtest.h>

namespace accel::shim {
namespace {

using Step = ShimPatience::Step;

constexpr absl::Duration kSlack = absl::Seconds(4);
const absl::Time kNow = absl::UnixEpoch() + absl::Hours(1);

TEST(ShimPatienceTest, NothingIsDueBeforeItIsTold) {
  ShimPatience patience(kSlack);
  EXPECT_EQ(patience.wake_at(), absl::InfiniteFuture());
  EXPECT_EQ(patience.Due(kNow), Step::kWait);
}

TEST(ShimPatienceTest, OneThatDoesNotAnswerIsKilledOnce) {
  ShimPatience patience(kSlack);
  patience.ToldToStop(kNow, absl::Seconds(30));
  EXPECT_EQ(patience.wake_at(), kNow + absl::Seconds(34));
  EXPECT_EQ(patience.Due(kNow + absl::Seconds(33)), Step::kWait);
  EXPECT_EQ(patience.Due(kNow + absl::Seconds(34)), Step::kTellAgain);
  EXPECT_EQ(patience.Due(kNow + absl::Seconds(37)), Step::kWait);
  EXPECT_EQ(patience.Due(kNow + absl::Seconds(38)), Step::kKill);
  EXPECT_EQ(patience.Due(kNow + absl::Hours(1)), Step::kWait);
}

TEST(ShimPatienceTest, TheGraceThatRunsOutFirstCounts) {
  ShimPatience patience(kSlack);
  patience.ToldToStop(kNow, absl::Seconds(30));
  patience.ToldToStop(kNow, absl::Hours(1));
  EXPECT_EQ(patience.wake_at(), kNow + absl::Seconds(34));
  patience.ToldToStop(kNow + absl::Seconds(1), absl::ZeroDuration());
  EXPECT_EQ(patience.wake_at(), kNow + absl::Seconds(5));
  patience.ToldToStop(kNow, absl::InfiniteDuration());
  EXPECT_EQ(patience.wake_at(), kNow + absl::Seconds(5));
}

TEST(ShimPatienceTest, OneThatAnswersIsLeftAloneAndAskedAgain) {
  ShimPatience patience(kSlack);
  patience.ToldToStop(kNow, absl::ZeroDuration());
  absl::Time now = kNow;
  for (int i = 0; i < 5; ++i) {
    now = patience.wake_at();
    EXPECT_EQ(patience.Due(now), Step::kTellAgain);
    patience.Heard(now);
  }
  now = patience.wake_at();
  EXPECT_EQ(patience.Due(now), Step::kTellAgain);
  EXPECT_EQ(patience.Due(patience.wake_at()), Step::kKill);
}

// If the agent itself was suspended (SIGSTOP, a paused machine), the shim had no chance to answer.
TEST(ShimPatienceTest, IsToldAgainHoweverLateTheAgentLooks) {
  ShimPatience patience(kSlack);
  patience.ToldToStop(kNow, absl::ZeroDuration());
  EXPECT_EQ(patience.Due(kNow + absl::Hours(9)), Step::kTellAgain);
  EXPECT_EQ(patience.wake_at(), kNow + absl::Hours(9) + kSlack);
}

TEST(ShimPatienceTest, ReportsBeforeTheEndOfTheGraceChangeNothing) {
  ShimPatience patience(kSlack);
  patience.ToldToStop(kNow, absl::Seconds(30));
  patience.Heard(kNow + absl::Seconds(20));
  EXPECT_EQ(patience.wake_at(), kNow + absl::Seconds(34));
}

TEST(ShimPatienceTest, NothingIsDueForAnEndedGeneration) {
  ShimPatience patience(kSlack);
  patience.ToldToStop(kNow, absl::ZeroDuration());
  patience.Rest();
  EXPECT_EQ(patience.wake_at(), absl::InfiniteFuture());
}

TEST(ShimPatienceTest, AShimThatDoesNotExitIsKilledAlthoughItReports) {
  ShimPatience patience(kSlack);
  patience.ToldToExit(kNow);
  patience.Heard(kNow);
  patience.Rest();
  patience.ToldToStop(kNow, absl::ZeroDuration());
  EXPECT_EQ(patience.wake_at(), kNow + 2 * kSlack);
  EXPECT_EQ(patience.Due(kNow + 2 * kSlack), Step::kKill);
}

}  // namespace
}  // namespace accel::shim
