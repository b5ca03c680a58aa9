#include "runtime/core/sharding/unit_schedule.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>

namespace accel::runtime {
namespace {

const std::vector<int> kLayers{-1, 0, 0, 0};  // A root with three layers.

std::string text_of(const UnitActions& actions) {
  static constexpr const char* kNames[] = {"gather", "prefetch", "reduce", "free"};
  std::string text;
  for (const UnitAction& action : actions) {
    text += (text.empty() ? "" : ", ") + std::string(kNames[action.kind]) + ' ' +
            std::to_string(action.unit);
  }
  return text;
}

// Runs a pass over a root and its three layers: the root's embedding, the layers, the root's head.
void forward(UnitSchedule& schedule) {
  for (const int unit : {0, 1, 2, 3, 0}) schedule.touch(unit);
}

// Returns the actions of the whole pass in the other direction.
std::string backward(UnitSchedule& schedule) {
  UnitActions all;
  const auto add = [&](const UnitActions& actions) {
    all.insert(all.end(), actions.begin(), actions.end());
  };
  schedule.begin_backward();
  for (const int unit : {0, 3, 2, 1}) {
    add(schedule.touch(unit));
    add(schedule.arrive(unit));
  }
  add(schedule.arrive(0));
  add(schedule.end_backward());
  return text_of(all);
}

TEST(UnitScheduleTest, AForwardPassKeepsOnePathOfTheTree) {
  UnitSchedule schedule(kLayers, {});
  EXPECT_EQ(text_of(schedule.touch(0)), "gather 0");
  EXPECT_EQ(text_of(schedule.touch(1)), "gather 1");
  EXPECT_EQ(text_of(schedule.touch(1)), "");
  EXPECT_EQ(text_of(schedule.touch(2)), "free 1, gather 2");
  EXPECT_EQ(text_of(schedule.touch(0)), "free 2");
  EXPECT_EQ(text_of(schedule.touch(3)), "gather 3");
  EXPECT_EQ(text_of(schedule.free_all()), "free 3, free 0");
}

TEST(UnitScheduleTest, AParentIsKeptUntilSomethingOutsideOfItIsRead) {
  UnitSchedule schedule({-1, 0, 1, 0}, {});
  EXPECT_EQ(text_of(schedule.touch(1)), "gather 1");
  EXPECT_EQ(text_of(schedule.touch(2)), "gather 2");
  EXPECT_EQ(text_of(schedule.touch(1)), "free 2");
  EXPECT_EQ(text_of(schedule.touch(2)), "gather 2");
  EXPECT_EQ(text_of(schedule.touch(3)), "free 2, free 1, gather 3");
}

TEST(UnitScheduleTest, ABackwardPassReducesAndFreesWhatHasEnded) {
  UnitSchedule schedule(kLayers, {});
  forward(schedule);
  EXPECT_EQ(backward(schedule),
            "gather 3, reduce 3, free 3, gather 2, reduce 2, free 2, gather 1, reduce 1, free 1, "
            "reduce 0, free 0");
}

TEST(UnitScheduleTest, WithoutReshardingABackwardPassGathersNothing) {
  UnitSchedule schedule(kLayers, {.reshard_after_forward = {false, false, false, false}});
  forward(schedule);
  EXPECT_EQ(backward(schedule),
            "reduce 3, free 3, reduce 2, free 2, reduce 1, free 1, reduce 0, free 0");
}

TEST(UnitScheduleTest, PreGathersTheNextUnitBeforeTheGradientsOfThisOne) {
  UnitSchedule schedule(kLayers, {.backward_prefetch = BackwardPrefetch::kPre});
  forward(schedule);
  const char* const expected =
      "prefetch 3, gather 3, prefetch 2, reduce 3, free 3, gather 2, prefetch 1, reduce 2, free 2, "
      "gather 1, reduce 1, free 1, reduce 0, free 0";
  // The first pass reverses the forward pass, whose first read of the root is expected last.
  EXPECT_EQ(backward(schedule), expected);
  forward(schedule);
  EXPECT_EQ(backward(schedule), expected);
}

TEST(UnitScheduleTest, PostGathersTheNextUnitBeforeThisOneIsReduced) {
  UnitSchedule schedule(kLayers, {.backward_prefetch = BackwardPrefetch::kPost});
  forward(schedule);
  EXPECT_EQ(backward(schedule),
            "gather 3, gather 2, reduce 3, free 3, gather 1, reduce 2, free 2, reduce 1, free 1, "
            "reduce 0, free 0");
}

TEST(UnitScheduleTest, ForwardPrefetchFollowsTheForwardPassBefore) {
  UnitSchedule schedule(kLayers, {.forward_prefetch = true});
  forward(schedule);
  backward(schedule);
  EXPECT_EQ(text_of(schedule.touch(0)), "gather 0, prefetch 1");
  EXPECT_EQ(text_of(schedule.touch(1)), "gather 1, prefetch 2");
  EXPECT_EQ(text_of(schedule.touch(2)), "free 1, gather 2, prefetch 3");
}

TEST(UnitScheduleTest, APassThatDeviatesIsNotPrefetchedFromThereOn) {
  UnitSchedule schedule(kLayers, {.forward_prefetch = true});
  for (const int unit : {0, 1, 2}) schedule.touch(unit);
  backward(schedule);
  EXPECT_EQ(text_of(schedule.touch(0)), "gather 0, prefetch 1");
  EXPECT_EQ(text_of(schedule.touch(3)), "gather 3");
  EXPECT_EQ(text_of(schedule.touch(1)), "free 3, gather 1");
  EXPECT_EQ(text_of(schedule.touch(2)), "free 1, gather 2");
  EXPECT_EQ(text_of(schedule.free_all()), "free 2, free 0");
}

// An evaluation makes any number of forward passes, and the last one precedes the backward pass.
TEST(UnitScheduleTest, ALongEvaluationLeavesTheOrderOfTheLatestForwardPass) {
  UnitSchedule schedule(kLayers, {.backward_prefetch = BackwardPrefetch::kPre});
  for (int pass = 0; pass < 30'000; ++pass) {
    for (const int unit : {0, 2, 1, 3, 0}) schedule.touch(unit);
  }
  forward(schedule);
  EXPECT_EQ(backward(schedule),
            "prefetch 3, gather 3, prefetch 2, reduce 3, free 3, gather 2, prefetch 1, reduce 2, "
            "free 2, gather 1, reduce 1, free 1, reduce 0, free 0");
}

TEST(UnitScheduleTest, AGradientThatComesLateIsReducedWithTheRest) {
  UnitSchedule schedule(kLayers, {});
  schedule.begin_backward();
  schedule.touch(3);
  schedule.arrive(3);
  EXPECT_EQ(text_of(schedule.touch(2)), "reduce 3, free 3, gather 2");
  EXPECT_EQ(text_of(schedule.arrive(3)), "free 2");
  EXPECT_EQ(text_of(schedule.end_backward()), "reduce 3");
}

TEST(UnitScheduleTest, AnOperatorMayReadSeveralUnits) {
  UnitSchedule schedule(kLayers, {});
  schedule.touch(1);
  EXPECT_EQ(text_of(schedule.touch(2)), "free 1, gather 2");
  EXPECT_EQ(text_of(schedule.touch_also(1)), "gather 1");
  EXPECT_EQ(text_of(schedule.touch_also(1)), "");
  EXPECT_TRUE(schedule.is_current(2));
  EXPECT_EQ(text_of(schedule.free_all()), "free 2, free 1");
}

TEST(UnitScheduleTest, RejectsUnitsThatDoNotFollowTheirParents) {
  EXPECT_THROW(UnitSchedule({0}, {}), std::invalid_argument);
  EXPECT_THROW(UnitSchedule({-1, -1}, {}), std::invalid_argument);
  EXPECT_THROW(UnitSchedule({-1, 1}, {}), std::invalid_argument);
}

// Performs the actions, and checks that each makes sense in the state before it.
class Performer {
 public:
  void perform(const UnitActions& actions) {
    for (const UnitAction& action : actions) {
      switch (action.kind) {
        case UnitAction::kGather:
          EXPECT_TRUE(gathered.insert(action.unit).second);
          prefetched.erase(action.unit);
          break;
        case UnitAction::kPrefetch:
          EXPECT_TRUE(!gathered.contains(action.unit) && prefetched.insert(action.unit).second);
          break;
        case UnitAction::kReduce:
          EXPECT_EQ(arrived.erase(action.unit), 1u);
          break;
        case UnitAction::kFree:
          EXPECT_EQ(gathered.erase(action.unit) + prefetched.erase(action.unit), 1u);
          break;
      }
    }
  }
  std::set<int> gathered, prefetched, arrived;
};

// Plays every sequence of four events, on every tree of four units, with every option.
TEST(UnitScheduleTest, EverySequenceGathersBeforeItReadsAndReducesEachGradientOnce) {
  for (int tree = 0; tree < 6; ++tree) {
    const std::vector<int> parents{-1, 0, tree % 2, tree / 2};
    for (int options = 0; options < 12; ++options) {
      const UnitScheduleOptions chosen{
          .reshard_after_forward = std::vector<bool>(4, options % 2 == 0),
          .backward_prefetch = static_cast<BackwardPrefetch>(options / 2 % 3),
          .forward_prefetch = options >= 6};
      for (int events = 0; events < 8 * 8 * 8 * 8; ++events) {
        UnitSchedule schedule(parents, chosen);
        Performer performer;
        for (const int unit : {0, 1, 2, 3, 0}) performer.perform(schedule.touch(unit));
        performer.perform(schedule.free_all());
        schedule.begin_backward();
        for (int i = 0, rest = events; i < 4; ++i, rest /= 8) {
          const int unit = rest % 4;
          if (rest % 8 < 4) {
            performer.perform(schedule.touch(unit));
            ASSERT_TRUE(performer.gathered.contains(unit));
            ASSERT_TRUE(schedule.is_current(unit));
            ASSERT_LE(performer.prefetched.size(), 2u);
          } else {
            performer.perform(schedule.arrive(unit));
            performer.arrived.insert(unit);
          }
        }
        performer.perform(schedule.end_backward());
        ASSERT_TRUE(performer.gathered.empty() && performer.prefetched.empty());
        ASSERT_TRUE(performer.arrived.empty());
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace accel::runtime
