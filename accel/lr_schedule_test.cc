// Learning rate schedules at their ends and between.
#include "accel/lr_schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace accel {
namespace {

TEST(LrScheduleTest, StepsDown) {
  const LrSchedule schedule = step_schedule(3, 0.5);
  EXPECT_DOUBLE_EQ(schedule.rate(0.4, 0), 0.4);
  EXPECT_DOUBLE_EQ(schedule.rate(0.4, 2), 0.4);
  EXPECT_DOUBLE_EQ(schedule.rate(0.4, 3), 0.2);
  EXPECT_DOUBLE_EQ(schedule.rate(0.4, 7), 0.1);
}

TEST(LrScheduleTest, LinearWithWarmUp) {
  const LrSchedule schedule = linear_schedule(4, 12);
  EXPECT_DOUBLE_EQ(schedule.rate(2, 0), 0);
  EXPECT_DOUBLE_EQ(schedule.rate(2, 1), 0.5);
  EXPECT_DOUBLE_EQ(schedule.rate(2, 4), 2);
  EXPECT_DOUBLE_EQ(schedule.rate(2, 8), 1);
  EXPECT_DOUBLE_EQ(schedule.rate(2, 12), 0);
  EXPECT_DOUBLE_EQ(schedule.rate(2, 20), 0);
}

TEST(LrScheduleTest, CosineWithWarmUp) {
  const LrSchedule schedule = cosine_schedule(2, 10);
  EXPECT_DOUBLE_EQ(schedule.rate(1, 1), 0.5);
  EXPECT_DOUBLE_EQ(schedule.rate(1, 2), 1);
  EXPECT_NEAR(schedule.rate(1, 4), 0.5 * (1 + std::sqrt(0.5)), 1e-12);
  EXPECT_NEAR(schedule.rate(1, 6), 0.5, 1e-12);
  EXPECT_NEAR(schedule.rate(1, 10), 0, 1e-12);
}

TEST(LrScheduleTest, AWarmUpMayBeEmptyOrTheWholeSchedule) {
  EXPECT_DOUBLE_EQ(linear_schedule(0, 4).rate(1, 0), 1);
  EXPECT_DOUBLE_EQ(linear_schedule(4, 4).rate(1, 3), 0.75);
  EXPECT_THROW(linear_schedule(5, 4), std::invalid_argument);
  EXPECT_THROW(cosine_schedule(-1, 4), std::invalid_argument);
}

// The expected values are those of PyTorch's OneCycleLR with max_lr = 1, 10 steps, linear, and
// defaults for the rest.
TEST(LrScheduleTest, OneCycleMovesTheMomentumAgainstTheRate) {
  const LrSchedule schedule =
      one_cycle_schedule({.max_lr = 1, .total_steps = 10, .anneal = Anneal::kLinear});
  EXPECT_DOUBLE_EQ(schedule.rate(7, 0), 0.04);
  EXPECT_DOUBLE_EQ(schedule.rate(7, 1), 0.52);
  EXPECT_DOUBLE_EQ(schedule.rate(7, 2), 1);
  EXPECT_NEAR(schedule.rate(7, 9), 4e-6, 1e-12);
  EXPECT_DOUBLE_EQ(schedule.momentum(0), 0.95);
  EXPECT_DOUBLE_EQ(schedule.momentum(2), 0.85);
  EXPECT_DOUBLE_EQ(schedule.momentum(9), 0.95);
  EXPECT_EQ(schedule.total_steps, 10);
}

TEST(LrScheduleTest, OneCycleInThreePhases) {
  const LrSchedule schedule = one_cycle_schedule({.max_lr = 1,
                                                  .total_steps = 10,
                                                  .anneal = Anneal::kLinear,
                                                  .cycle_momentum = false,
                                                  .three_phase = true});
  EXPECT_DOUBLE_EQ(schedule.rate(1, 2), 1);
  EXPECT_NEAR(schedule.rate(1, 4), 0.04, 1e-12);
  EXPECT_NEAR(schedule.rate(1, 9), 4e-6, 1e-12);
  EXPECT_FALSE(schedule.momentum);
}

TEST(LrScheduleTest, RefusesArgumentsOutOfRange) {
  EXPECT_THROW(step_schedule(0), std::invalid_argument);
  EXPECT_THROW(one_cycle_schedule({.max_lr = 1}), std::invalid_argument);
  EXPECT_THROW(one_cycle_schedule({.total_steps = 5}), std::invalid_argument);
  EXPECT_THROW(one_cycle_schedule({.max_lr = 1, .total_steps = 5, .pct_start = 1.5}),
               std::invalid_argument);
}

}  // namespace
}  // namespace accel
