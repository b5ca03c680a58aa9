// Shows that the simulation finds bugs: each planted bug is found within a few hundred seeds, and
// the schedule that is printed finds it again.

#include "tests/simulation/planted_bugs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/log.h"
#include "tests/simulation/play.h"

namespace accel::simulation {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr uint32_t kSeeds = 300;

// Plants the bug for each seed in turn. Returns true once an invariant is broken in the way that
// `what` says. A bug may break several invariants.
bool Finds(PlantedBug (*plant)(), absl::string_view what) {
  common::InitLog("simulation", common::LogLevel::kError);
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    const Schedule schedule = RandomSchedule(seed, 40);
    const absl::Status status = Play(schedule, plant).status;
    if (!absl::StrContains(status.message(), what)) continue;
    const Schedule least = Shrink(schedule, plant);
    EXPECT_LT(least.events.size(), schedule.events.size());
    const absl::StatusOr<Schedule> parsed = ParseSchedule(ToText(least));
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(Play(*parsed, plant).status, Play(least, plant).status);
    return true;
  }
  return false;
}

TEST(PlantedBugs, AnAcknowledgementBeforeTheDiskHasIt) {
  EXPECT_TRUE(Finds(AcknowledgesBeforePersisting, "no coordinator that lives has published it"));
}

TEST(PlantedBugs, AHalfCommitThatIsKept) {
  EXPECT_TRUE(Finds(KeepsHalfCommits, "cannot recover what is stored"));
}

TEST(PlantedBugs, AnFsyncThatLies) { EXPECT_TRUE(Finds(LiesAboutFsync, "had version")); }

TEST(PlantedBugs, AReportOfAnOlderGeneration) {
  EXPECT_TRUE(Finds(BelievesReportsOfOlderGenerations, "has lost node"));
}

TEST(PlantedBugs, AHangOfAnotherRank) { EXPECT_TRUE(Finds(NamesTheWrongRank, "does not hang")); }

TEST(PlantedBugs, AStopWithoutItsGrace) {
  EXPECT_TRUE(Finds(StopsWithoutGrace, "its grace is at least"));
}

TEST(PlantedBugs, AGraceThatIsLostOverARestart) {
  EXPECT_TRUE(Finds(ForgetsGraceOverARestart, "its grace is at least"));
}

TEST(PlantedBugs, ACoordinatorOfAnotherClusterThatIsObeyed) {
  EXPECT_TRUE(Finds(ObeysAnyCoordinator, "of another cluster has stopped"));
}

// Returns what is found with the bug if the seed of this schedule decides the rest. Nothing must be
// found without it.
std::set<std::string> FindIn(absl::string_view text, PlantedBug (*plant)()) {
  absl::StatusOr<Schedule> schedule = ParseSchedule(text);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  std::set<std::string> found;
  for (schedule->seed = 1; schedule->seed <= 50; ++schedule->seed) {
    EXPECT_EQ(Play(*schedule, NoBug).status, absl::OkStatus());
    found.emplace(Play(*schedule, plant).status.message());
  }
  return found;
}

// Random schedules are too short for a job that is started again because its fence must have ended
// it.
TEST(PlantedBugs, AJobThatIsNotStoppedForLackOfContact) {
  EXPECT_THAT(FindIn(R"(
      seed 1
      2s submit 1 nodes=1 processes=1 cpu max_restarts=1 stop_on_disconnect=5s
      3s cut n1 up down
      3s cut n2 up down
      70s join n1
      70s join n2)",
                     NeverFences),
              Contains(HasSubstr("while generation")));
}

// The agent is killed before it could report the start, and the disk does not take the result.
TEST(PlantedBugs, AGenerationThatIsStartedTwice) {
  EXPECT_THAT(FindIn(R"(
      seed 1
      2s kill_agent_in_start n1 start 2s
      2s kill_agent_in_start n2 start 2s
      2s kill_agent_in_start n3 start 2s
      2s submit 1 nodes=1 processes=1 cpu max_restarts=1 failure_grace=1s ends_with_agent
      2.4s node_disk_fails n1 5s
      2.4s node_disk_fails n2 5s
      2.4s node_disk_fails n3 5s)",
                     ForgetsStarts),
              Contains(HasSubstr("was started a second time")));
}

// What fails on n1 is often reported late.
TEST(PlantedBugs, AFailureThatIsReportedFirst) {
  std::string text = R"(
      seed 1
      2s submit 1 nodes=3 processes=2 cpu max_restarts=3
      2s submit 2 nodes=3 processes=2 cpu max_restarts=3
      2s submit 3 nodes=3 processes=2 cpu max_restarts=3
      )";
  for (int second = 4; second < 20; second += 3) {
    absl::StrAppend(&text, second, "s cut n1 up\n", second + 1, ".5s join n1\n");
  }
  EXPECT_THAT(FindIn(text, TrustsTheOrderOfReports),
              Contains(HasSubstr("is the cause of the end of")));
}

// There is room for the jobs to grow half a minute after their start, which is long after a
// checkpoint of some.
TEST(PlantedBugs, AGrowthBetweenCheckpoints) {
  std::string text = "seed 1\n1s drain n2\n1s drain n3\n";
  for (int job = 1; job <= 8; ++job) {
    absl::StrAppend(&text, "2s submit ", job, " nodes=2 processes=1 cpu min_nodes=1\n");
  }
  EXPECT_THAT(FindIn(absl::StrCat(text, "34s undrain n2\n"), IgnoresCheckpoints),
              Contains(HasSubstr("is stopped to grow")));
}

TEST(PlantedBugs, AUsedSocketThatIsOfferedAgain) {
  EXPECT_TRUE(Finds(OffersUsedSocketsAgain, "store socket"));
}

}  // namespace
}  // namespace accel::simulation
