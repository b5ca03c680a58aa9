#include "agent/state/prune_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

namespace accel {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::string NewDir(const std::string& name, std::initializer_list<const char*> children) {
  const std::string dir = std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
  std::filesystem::create_directories(dir);
  for (const char* child : children) std::filesystem::create_directories(dir + "/" + child);
  return dir;
}

std::vector<std::string> Children(const std::string& dir) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

TEST(PruneJobs, TheOldestFinishedOnesGo) {
  const std::string dir = NewDir("jobs", {"a/gen_1", "b/gen_1", "c/gen_1/rank_0", "d/gen_1"});
  PruneJobs(dir, {JobId("a")}, 3);
  EXPECT_THAT(Children(dir), UnorderedElementsAre("a", "b", "c", "d"));
  PruneJobs(dir, {JobId("a")}, 1);
  EXPECT_THAT(Children(dir), UnorderedElementsAre("a", "d"));
  PruneJobs(dir, {}, 0);
  EXPECT_THAT(Children(dir), IsEmpty());
}

TEST(PruneJobs, WithoutAFolderThereIsNothingToDo) { PruneJobs("/nonexistent", {}, 0); }

TEST(PruneGenerations, TheNewestStayAndSoDoesWhatIsNoGeneration) {
  const std::string dir = NewDir("job", {"gen_1/rank_0", "gen_2", "gen_9", "gen_10", "notes"});
  PruneGenerations(dir, 11, 3);
  EXPECT_THAT(Children(dir), UnorderedElementsAre("gen_9", "gen_10", "notes"));
}

}  // namespace
}  // namespace accel
