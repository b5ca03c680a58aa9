#include "common/backoff.h"

#include <gtest/gtest.h>

namespace accel::common {
namespace {

TEST(Backoff, DoublesUpToTheLongestWithJitter) {
  Backoff backoff(absl::Milliseconds(100), absl::Milliseconds(350));
  for (const int whole_ms : {100, 200, 350, 350}) {
    const absl::Duration pause = backoff.Next();
    EXPECT_GE(pause, absl::Milliseconds(whole_ms) / 2);
    EXPECT_LE(pause, absl::Milliseconds(whole_ms));
  }
  backoff.Reset();
  EXPECT_LE(backoff.Next(), absl::Milliseconds(100));
}

}  // namespace
}  // namespace accel::common
