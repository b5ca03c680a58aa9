// Shows that the simulation finds bugs: each planted bug is found within a few hundred seeds, and
// the schedule that is printed finds it again.

#include "tests/simulation/planted_bugs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "common/log.h"
#include "tests/simulation/play.h"

namespace accel::simulation {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr uint32_t kSeeds = 300;

// Plants the bug for each seed in turn until it is found, and returns what was found. A bug may
// remember what it has seen, so each attempt gets a new one.
absl::Status Find(PlantedBug (*plant)()) {
  common::InitLog("simulation", common::LogLevel::kError);
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    const Schedule schedule = RandomSchedule(seed, 40);
    const absl::Status status = Play(schedule, plant).status;
    if (status.ok()) continue;
    const Schedule least = Shrink(schedule, plant);
    EXPECT_LT(least.events.size(), schedule.events.size());
    const absl::StatusOr<Schedule> parsed = ParseSchedule(ToText(least));
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(Play(*parsed, plant).status, Play(least, plant).status);
    return absl::Status(status.code(), absl::StrCat("seed ", seed, ": ", status.message()));
  }
  return absl::OkStatus();
}

TEST(PlantedBugs, AnAcknowledgementBeforeTheDiskHasIt) {
  EXPECT_THAT(Find(AcknowledgesBeforePersisting).message(),
              HasSubstr("no coordinator that lives has published it"));
}

TEST(PlantedBugs, AReportOfAnOlderGeneration) {
  EXPECT_THAT(Find(BelievesReportsOfOlderGenerations).message(), HasSubstr("has lost node"));
}

TEST(PlantedBugs, AStopWithoutItsGrace) {
  EXPECT_THAT(Find(StopsWithoutGrace).message(), HasSubstr("its grace is at least"));
}

TEST(PlantedBugs, AGraceThatIsLostOverARestart) {
  EXPECT_THAT(Find(ForgetsGraceOverARestart).message(), HasSubstr("its grace is at least"));
}

TEST(PlantedBugs, ACoordinatorOfAnotherClusterThatIsObeyed) {
  EXPECT_THAT(Find(ObeysAnyCoordinator).message(), HasSubstr("of another cluster has stopped"));
}

// Random schedules are too short for a job that is started again because its fence must have ended
// it.
TEST(PlantedBugs, AJobThatIsNotStoppedForLackOfContact) {
  absl::StatusOr<Schedule> schedule = ParseSchedule(R"(
      seed 1
      2s submit 1 nodes=1 processes=1 cpu max_restarts=1 stop_on_disconnect=5s
      3s cut n1 up down
      3s cut n2 up down
      70s join n1
      70s join n2)");
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  // The seed decides how long the processes run.
  std::set<std::string> found;
  for (schedule->seed = 1; schedule->seed <= 50; ++schedule->seed) {
    EXPECT_EQ(Play(*schedule, NoBug).status, absl::OkStatus());
    found.emplace(Play(*schedule, NeverFences).status.message());
  }
  EXPECT_THAT(found, Contains(HasSubstr("while generation")));
}

TEST(PlantedBugs, AUsedSocketThatIsOfferedAgain) {
  EXPECT_THAT(Find(OffersUsedSocketsAgain).message(), HasSubstr("store socket"));
}

}  // namespace
}  // namespace accel::simulation
