#include "runtime/core/loss_scale.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <vector>

namespace accel::runtime {
namespace {

// The states that torch.amp.GradScaler("cpu", ...) of PyTorch 2.11 had after each step, where the
// gradients of the steps in `overflows` were infinite or NaN.
struct Recorded {
  LossScalingOptions options;
  std::set<int> overflows;
  std::vector<LossScaleState> after;
};

const Recorded kRecorded[] = {
    {{},
     {0, 1, 2, 7},
     {{0x1p15, 0},
      {0x1p14, 0},
      {0x1p13, 0},
      {0x1p13, 1},
      {0x1p13, 2},
      {0x1p13, 3},
      {0x1p13, 4},
      {0x1p12, 0},
      {0x1p12, 1},
      {0x1p12, 2}}},
    {{.growth_interval = 3},
     {4, 9, 10},
     {{0x1p16, 1},
      {0x1p16, 2},
      {0x1p17, 0},
      {0x1p17, 1},
      {0x1p16, 0},
      {0x1p16, 1},
      {0x1p16, 2},
      {0x1p17, 0},
      {0x1p17, 1},
      {0x1p16, 0},
      {0x1p15, 0},
      {0x1p15, 1},
      {0x1p15, 2},
      {0x1p16, 0}}},
    {{.init_scale = 1000, .growth_factor = 1.7, .backoff_factor = 0.3, .growth_interval = 2},
     {3, 6},
     {{0x1.f4p9, 1},
      {0x1.a9p10, 0},
      {0x1.a9p10, 1},
      {0x1.fep8, 0},
      {0x1.fep8, 1},
      {0x1.b18p9, 0},
      {0x1.04199ap8, 0},
      {0x1.04199ap8, 1},
      {0x1.ba2b86p8, 0},
      {0x1.ba2b86p8, 1},
      {0x1.77d832p9, 0},
      {0x1.77d832p9, 1}}},
    {{.init_scale = 0x1p126, .growth_interval = 1},
     {5},
     {{0x1p127, 0},
      {0x1p127, 0},
      {0x1p127, 0},
      {0x1p127, 0},
      {0x1p127, 0},
      {0x1p126, 0},
      {0x1p127, 0},
      {0x1p127, 0}}},
};

TEST(DynamicLossScaleTest, MovesAsGradScalerDoes) {
  for (const Recorded& recorded : kRecorded) {
    DynamicLossScale scale(recorded.options);
    for (std::size_t step = 0; step < recorded.after.size(); ++step) {
      scale.update(recorded.overflows.contains(static_cast<int>(step)));
      EXPECT_EQ(scale.scale(), recorded.after[step].scale)
          << recorded.options.init_scale << ", step " << step;
      EXPECT_EQ(scale.state().growth_tracker, recorded.after[step].growth_tracker)
          << recorded.options.init_scale << ", step " << step;
    }
  }
}

TEST(DynamicLossScaleTest, GrowsAfterTwoThousandStepsByDefault) {
  DynamicLossScale scale({});
  for (int step = 0; step < 1999; ++step) scale.update(false);
  EXPECT_EQ(scale.state(), (LossScaleState{65536, 1999}));
  scale.update(false);
  EXPECT_EQ(scale.state(), (LossScaleState{131072, 0}));
}

TEST(DynamicLossScaleTest, EndlessOverflowsDoNotMakeItZero) {
  DynamicLossScale scale({});
  for (int step = 0; step < 1000; ++step) scale.update(true);
  EXPECT_GT(scale.scale(), 0);
}

TEST(DynamicLossScaleTest, ContinuesFromASavedState) {
  DynamicLossScale first({.growth_interval = 5}), second({.growth_interval = 5});
  for (int step = 0; step < 3; ++step) first.update(step == 0);
  second.set_state(first.state());
  for (int step = 0; step < 4; ++step) {
    first.update(false);
    second.update(false);
    EXPECT_EQ(first.state(), second.state());
  }
  EXPECT_EQ(first.scale(), 65536);
  EXPECT_THROW(second.set_state({0, 0}), std::invalid_argument);
  EXPECT_THROW(second.set_state({1, -1}), std::invalid_argument);
}

TEST(DynamicLossScaleTest, RefusesOptionsOutOfRange) {
  EXPECT_THROW(DynamicLossScale({.init_scale = 0}), std::invalid_argument);
  EXPECT_THROW(DynamicLossScale({.init_scale = 1e40}), std::invalid_argument);
  EXPECT_THROW(DynamicLossScale({.growth_factor = 1}), std::invalid_argument);
  EXPECT_THROW(DynamicLossScale({.backoff_factor = 1}), std::invalid_argument);
  EXPECT_THROW(DynamicLossScale({.growth_interval = 0}), std::invalid_argument);
}

}  // namespace
}  // namespace accel::runtime
