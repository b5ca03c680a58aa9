#include "agent/session_pauses.h"

#include <gtest/gtest.h>

namespace accel::agent {
namespace {

TEST(SessionPauses, AfterALossTheyGrowToASecond) {
  SessionPauses pauses(1);
  EXPECT_LE(pauses.Next(SessionEnd::kLost, true), absl::Milliseconds(50));
  absl::Duration last;
  for (int i = 0; i < 20; ++i) last = pauses.Next(SessionEnd::kLost, false);
  EXPECT_GE(last, SessionPauses::kLongest / 2);
  EXPECT_LE(last, SessionPauses::kLongest);
  EXPECT_LE(pauses.Next(SessionEnd::kLost, true), absl::Milliseconds(50));
}

TEST(SessionPauses, ANodeThatIsRefusedSoonAsksOnlyAFewTimesAMinute) {
  SessionPauses pauses(1);
  EXPECT_LE(pauses.Next(SessionEnd::kRefused, true), SessionPauses::kFirstRefused);
  absl::Duration last;
  for (int i = 0; i < 10; ++i) last = pauses.Next(SessionEnd::kRefused, false);
  EXPECT_GE(last, SessionPauses::kLongestRefused / 2);
  EXPECT_LE(last, SessionPauses::kLongestRefused);
}

// Handshakes time out while a coordinator is busy with those of many nodes that it refuses.
TEST(SessionPauses, ALossBetweenRefusalsDoesNotMakeThemFast) {
  SessionPauses pauses(1);
  for (int i = 0; i < 10; ++i) pauses.Next(SessionEnd::kRefused, false);
  EXPECT_LE(pauses.Next(SessionEnd::kLost, false), SessionPauses::kLongest);
  EXPECT_GE(pauses.Next(SessionEnd::kRefused, false), SessionPauses::kLongestRefused / 2);
}

TEST(SessionPauses, ANodeThatIsAdmittedAgainReturnsFast) {
  SessionPauses pauses(1);
  for (int i = 0; i < 10; ++i) pauses.Next(SessionEnd::kRefused, false);
  EXPECT_LE(pauses.Next(SessionEnd::kLost, true), absl::Milliseconds(50));
  EXPECT_LE(pauses.Next(SessionEnd::kRefused, false), SessionPauses::kFirstRefused);
  for (int i = 0; i < 10; ++i) pauses.Next(SessionEnd::kRefused, false);
  EXPECT_LE(pauses.Next(SessionEnd::kRefused, true), SessionPauses::kFirstRefused);
}

}  // namespace
}  // namespace accel::agent
