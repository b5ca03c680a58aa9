#include "tests/simulation/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "common/status_matchers.h"
#include "tests/simulation/play.h"

namespace accel::simulation {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

TEST(Schedule, SurvivesItsText) {
  const Schedule schedule = RandomSchedule(7, 100);
  const absl::StatusOr<Schedule> parsed = ParseSchedule(ToText(schedule));
  ASSERT_OK(parsed);
  EXPECT_EQ(ToText(*parsed), ToText(schedule));
  EXPECT_EQ(parsed->seed, 7u);
  EXPECT_EQ(parsed->events.size(), 100u);
}

TEST(Schedule, NamesTheLineThatIsWrong) {
  EXPECT_THAT(ParseSchedule("1s join n1").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 1")));
  EXPECT_THAT(ParseSchedule("seed 1\n# why\n2s join n1\n1s join n1").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 4")));
  EXPECT_THAT(ParseSchedule("seed 1\n2s").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 2")));
  EXPECT_FALSE(ParseSchedule("# nothing").ok());
}

TEST(Schedule, RefusesWordsThatAreNoEvent) {
  const PlantedBug none;
  UnreliableCluster cluster(1, &none);
  for (const char* words :
       {"explode", "crash stored", "crash maybe 1s", "join n4", "cut n1 sideways", "submit 1 x=1",
        "submit nodes=1", "pause_agent n1", "disk_fails", "crash lost 1s reboot now"}) {
    EXPECT_THAT(Perform({absl::Seconds(1), words}, &cluster),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(words)));
  }
}

TEST(Schedule, EveryKindOfEventHappens) {
  std::set<std::string> verbs;
  for (const Event& event : RandomSchedule(1, 2'000).events) {
    verbs.insert(event.words.substr(0, event.words.find(' ')));
  }
  EXPECT_THAT(verbs, ::testing::UnorderedElementsAre(
                         "submit", "cancel", "drop", "kill_agent", "kill_shim", "pause_agent",
                         "reboot", "break", "cut", "join", "go_astray", "drain", "undrain",
                         "shut_down", "crash", "crash_at_commit", "pause_coordinator", "disk_full",
                         "disk_fails", "kill_agent_in_start", "set_clock", "lose_power",
                         "node_disk_full", "node_disk_fails"));
}

// An event of a schedule may come to nothing.
TEST(Schedule, EveryKindOfFaultTakesEffect) {
  SeenFaults seen;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    seen.merge(Play(RandomSchedule(seed, 40), NoBug).seen);
  }
  EXPECT_THAT(seen, ::testing::UnorderedElementsAre(
                        "torn commit", "kill of an agent in a start", "write on a node that failed",
                        "power failure on a node that had files which were not synced",
                        "cause among several failures", "growth after a checkpoint",
                        "growth without a checkpoint", "rank that hangs"));
}

// A failure that cannot be repeated cannot be explained.
TEST(Schedule, OneSeedIsOneHistory) {
  for (const uint32_t seed : {1u, 2u, 3u}) {
    const Outcome first = Play(RandomSchedule(seed, 40), NoBug);
    const Outcome second = Play(RandomSchedule(seed, 40), NoBug);
    EXPECT_EQ(first.status, second.status);
    EXPECT_EQ(first.simulated, second.simulated);
  }
}

}  // namespace
}  // namespace accel::simulation
