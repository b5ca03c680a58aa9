#include "runtime/core/progress_bar.h"

#include <gtest/gtest.h>

namespace accel::runtime {
namespace {

using Seconds = std::chrono::duration<double>;

ProgressState state(std::size_t done, std::optional<std::size_t> total, double seconds) {
  return {.label = "epoch 1", .done = done, .total = total, .elapsed = Seconds(seconds)};
}

TEST(ProgressBarTest, RendersABar) {
  EXPECT_EQ(render_bar(state(50, 200, 10), 80),
            "epoch 1  25% [##########..............................] 50/200 00:10<00:30 5.0/s");
  EXPECT_EQ(render_bar(state(200, 200, 4000), 80),
            "epoch 1 100% [#####################################] 200/200 1:06:40<00:00 0.1/s");
}

TEST(ProgressBarTest, TheRemainingTimeIsUnknownBeforeTheFirstStep) {
  EXPECT_NE(render_bar(state(0, 200, 0), 80).find("00:00<--:--"), std::string::npos);
}

TEST(ProgressBarTest, NeverExceedsTheTerminal) {
  for (int columns = 1; columns < 120; ++columns) {
    EXPECT_LE(render_bar(state(7, 200, 3), columns).size(), static_cast<std::size_t>(columns));
  }
}

TEST(ProgressBarTest, AnEmptyLoopIsComplete) {
  EXPECT_EQ(render_line(state(0, 0, 0)), "epoch 1 100% 0/0 0.0/s");
}

TEST(ProgressBarTest, WithoutATotalItCounts) {
  EXPECT_EQ(render_bar(state(50, std::nullopt, 10), 80), "epoch 1 50 00:10 5.0/s");
  EXPECT_EQ(render_bar(state(50, std::nullopt, 10), 9), "epoch 1 5");
  EXPECT_EQ(render_line(state(50, std::nullopt, 10)), "epoch 1 50 00:10 5.0/s");
  ProgressThrottle throttle(/*terminal=*/false);
  EXPECT_FALSE(throttle.due(state(1, std::nullopt, 29)));
  EXPECT_TRUE(throttle.due(state(2, std::nullopt, 31)));
}

TEST(ProgressThrottleTest, PrintsRarelyInALogFile) {
  ProgressThrottle throttle(/*terminal=*/false);
  EXPECT_FALSE(throttle.due(state(1, 100, 0.1)));
  EXPECT_FALSE(throttle.due(state(2, 100, 29.9)));
  EXPECT_TRUE(throttle.due(state(3, 100, 30.1)));
  EXPECT_FALSE(throttle.due(state(4, 100, 31)));
  EXPECT_TRUE(throttle.due(state(100, 100, 32)));
}

TEST(ProgressThrottleTest, PrintsOftenOnATerminal) {
  ProgressThrottle throttle(/*terminal=*/true);
  EXPECT_TRUE(throttle.due(state(1, 100, 0.01)));
  EXPECT_FALSE(throttle.due(state(2, 100, 0.05)));
  EXPECT_TRUE(throttle.due(state(3, 100, 0.12)));
}

}  // namespace
}  // namespace accel::runtime
