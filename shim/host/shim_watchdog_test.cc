#include "shim/host/shim_watchdog.h"

#include <gtest/gtest.h>

namespace accel::shim {
namespace {

using Step = ShimWatchdog::Step;

constexpr absl::Duration kSlack = absl::Seconds(4);
const absl::Time kNow = absl::UnixEpoch() + absl::Hours(1);

TEST(ShimWatchdogTest, NothingIsDueBeforeAStopIsSent) {
  ShimWatchdog watchdog(kSlack);
  EXPECT_EQ(watchdog.wake_at(), absl::InfiniteFuture());
  EXPECT_EQ(watchdog.Due(kNow), Step::kWait);
}

TEST(ShimWatchdogTest, AShimThatDoesNotAnswerIsKilledOnce) {
  ShimWatchdog watchdog(kSlack);
  watchdog.StopSent(kNow, absl::Seconds(30));
  EXPECT_EQ(watchdog.wake_at(), kNow + absl::Seconds(34));
  EXPECT_EQ(watchdog.Due(kNow + absl::Seconds(33)), Step::kWait);
  EXPECT_EQ(watchdog.Due(kNow + absl::Seconds(34)), Step::kSendAgain);
  EXPECT_EQ(watchdog.Due(kNow + absl::Seconds(37)), Step::kWait);
  EXPECT_EQ(watchdog.Due(kNow + absl::Seconds(38)), Step::kKill);
  EXPECT_EQ(watchdog.Due(kNow + absl::Hours(1)), Step::kWait);
}

TEST(ShimWatchdogTest, TheGraceThatRunsOutFirstCounts) {
  ShimWatchdog watchdog(kSlack);
  watchdog.StopSent(kNow, absl::Seconds(30));
  watchdog.StopSent(kNow, absl::Hours(1));
  EXPECT_EQ(watchdog.wake_at(), kNow + absl::Seconds(34));
  watchdog.StopSent(kNow + absl::Seconds(1), absl::ZeroDuration());
  EXPECT_EQ(watchdog.wake_at(), kNow + absl::Seconds(5));
  watchdog.StopSent(kNow, absl::InfiniteDuration());
  EXPECT_EQ(watchdog.wake_at(), kNow + absl::Seconds(5));
}

TEST(ShimWatchdogTest, AShimThatAnswersIsAskedAgainAndNotKilled) {
  ShimWatchdog watchdog(kSlack);
  watchdog.StopSent(kNow, absl::ZeroDuration());
  absl::Time now = kNow;
  for (int i = 0; i < 5; ++i) {
    now = watchdog.wake_at();
    EXPECT_EQ(watchdog.Due(now), Step::kSendAgain);
    watchdog.ReportReceived(now);
  }
  now = watchdog.wake_at();
  EXPECT_EQ(watchdog.Due(now), Step::kSendAgain);
  EXPECT_EQ(watchdog.Due(watchdog.wake_at()), Step::kKill);
}

TEST(ShimWatchdogTest, AShimOfAnotherUserIsKilledAfterSomeAnswers) {
  ShimWatchdog watchdog(kSlack);
  watchdog.LimitAnswers();
  for (int generation = 0; generation < 2; ++generation) {
    watchdog.StopSent(kNow, absl::ZeroDuration());
    for (int i = 0; i <= ShimWatchdog::kMostAnswersOfUser; ++i) {
      EXPECT_EQ(watchdog.Due(watchdog.wake_at()), Step::kSendAgain);
      watchdog.ReportReceived(watchdog.wake_at() - kSlack);
    }
    EXPECT_EQ(watchdog.wake_at(), kNow + (ShimWatchdog::kMostAnswersOfUser + 2) * kSlack);
    EXPECT_EQ(watchdog.Due(watchdog.wake_at()), Step::kKill);
    watchdog.Disarm();
  }
}

// If the agent itself was suspended (SIGSTOP, a paused machine), the shim had no chance to answer.
TEST(ShimWatchdogTest, TheStopIsSentAgainHoweverLateTheAgentChecks) {
  ShimWatchdog watchdog(kSlack);
  watchdog.StopSent(kNow, absl::ZeroDuration());
  EXPECT_EQ(watchdog.Due(kNow + absl::Hours(9)), Step::kSendAgain);
  EXPECT_EQ(watchdog.wake_at(), kNow + absl::Hours(9) + kSlack);
}

TEST(ShimWatchdogTest, ReportsBeforeTheEndOfTheGraceChangeNothing) {
  ShimWatchdog watchdog(kSlack);
  watchdog.StopSent(kNow, absl::Seconds(30));
  watchdog.ReportReceived(kNow + absl::Seconds(20));
  EXPECT_EQ(watchdog.wake_at(), kNow + absl::Seconds(34));
}

TEST(ShimWatchdogTest, NothingIsDueForAnEndedGeneration) {
  ShimWatchdog watchdog(kSlack);
  watchdog.StopSent(kNow, absl::ZeroDuration());
  watchdog.Disarm();
  EXPECT_EQ(watchdog.wake_at(), absl::InfiniteFuture());
}

TEST(ShimWatchdogTest, AShimThatDoesNotExitIsKilledAlthoughItReports) {
  ShimWatchdog watchdog(kSlack);
  watchdog.ExitSent(kNow);
  watchdog.ReportReceived(kNow);
  watchdog.Disarm();
  watchdog.StopSent(kNow, absl::ZeroDuration());
  EXPECT_EQ(watchdog.wake_at(), kNow + 2 * kSlack);
  EXPECT_EQ(watchdog.Due(kNow + 2 * kSlack), Step::kKill);
}

}  // namespace
}  // namespace accel::shim
