#include "runtime/core/replay_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace accel::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Slots 0 and 1 belong to a first model, 2 is a temporary of it, and 3 and 4 belong to a second.
const std::vector<TouchedSlots> kSteps = {{0}, {0}, {2}, {1, 2}, {3}, {4}, {4}};

TEST(ReplayPlanTest, ASlotIsFinishedByItsLastStep) {
  const ReplayPlan plan = plan_replay(kSteps, {0}, {0, 1}, /*reaches_end=*/false);
  EXPECT_EQ(plan.begin, 0);
  EXPECT_EQ(plan.end, 4);
  EXPECT_THAT(plan.finished, ElementsAre(IsEmpty(), ElementsAre(0), IsEmpty(), ElementsAre(1, 2)));
}

TEST(ReplayPlanTest, ItCanReachTheEndOfTheTape) {
  const ReplayPlan plan = plan_replay(kSteps, {0}, {0}, /*reaches_end=*/true);
  EXPECT_EQ(plan.begin, 0);
  EXPECT_EQ(plan.end, 7);
  EXPECT_THAT(plan.finished[6], ElementsAre(4));
}

TEST(ReplayPlanTest, ItBeginsAtTheLastStartThatSuffices) {
  const ReplayPlan plan = plan_replay(kSteps, {0, 4}, {4}, /*reaches_end=*/false);
  EXPECT_EQ(plan.begin, 4);
  EXPECT_EQ(plan.end, 7);
  EXPECT_THAT(plan.finished, ElementsAre(ElementsAre(3), IsEmpty(), ElementsAre(4)));
}

TEST(ReplayPlanTest, AStepThatUsesAnEarlierSlotMovesTheBegin) {
  const std::vector<TouchedSlots> steps = {{9}, {0, 9}, {1}, {0, 2}, {2, 3}, {3}};
  EXPECT_EQ(plan_replay(steps, {0, 2, 4, 5}, {3}, /*reaches_end=*/false).begin, 0);
  EXPECT_EQ(plan_replay(steps, {0, 1, 2, 4, 5}, {3}, /*reaches_end=*/false).begin, 0);
  EXPECT_EQ(plan_replay(steps, {0, 2, 4, 5}, {1}, /*reaches_end=*/false).begin, 2);
}

TEST(ReplayPlanTest, NothingIsReplayedForNothing) {
  const ReplayPlan plan = plan_replay(kSteps, {0}, {}, /*reaches_end=*/true);
  EXPECT_EQ(plan.begin, plan.end);
  EXPECT_THAT(plan.finished, IsEmpty());
  EXPECT_EQ(plan_replay({}, {0}, {}, /*reaches_end=*/true).end, 0);
}

}  // namespace
}  // namespace accel::runtime
