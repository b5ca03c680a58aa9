#include "agent/state/state_dir.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "common/status_matchers.h"

namespace accel {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::string NewDir(const std::string& name) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
  std::filesystem::remove_all(path);
  return path;
}

TEST(StateDir, ANodeKeepsItsId) {
  const std::string path = NewDir("keeps");
  NodeId first;
  {
    absl::StatusOr<StateDir> dir = StateDir::Open(path, absl::ZeroDuration());
    ASSERT_OK(dir);
    first = dir->node_id();
    EXPECT_EQ(first.value().size(), 16u);
  }
  absl::StatusOr<StateDir> again = StateDir::Open(path, absl::ZeroDuration());
  ASSERT_OK(again);
  EXPECT_EQ(again->node_id(), first);
}

TEST(StateDir, TwoAgentsCannotShareIt) {
  const std::string path = NewDir("shared");
  absl::StatusOr<StateDir> dir = StateDir::Open(path, absl::ZeroDuration());
  ASSERT_OK(dir);
  EXPECT_THAT(StateDir::Open(path, absl::ZeroDuration()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(std::to_string(getpid()))));
}

TEST(StateDir, AShimThatStillLivesHoldsTheLock) {
  const std::string path = NewDir("shim");
  UniqueFd of_a_shim;
  {
    absl::StatusOr<StateDir> dir = StateDir::Open(path, absl::ZeroDuration());
    ASSERT_OK(dir);
    of_a_shim = UniqueFd(dup(dir->lock_fd()));
  }
  EXPECT_THAT(StateDir::Open(path, absl::ZeroDuration()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("in use")));
  of_a_shim.reset();
  EXPECT_OK(StateDir::Open(path, absl::ZeroDuration()));
}

TEST(StateDir, SaysWhichPathItCannotMake) {
  EXPECT_THAT(StateDir::Open("/proc/nowhere", absl::ZeroDuration()).status().ToString(),
              HasSubstr("/proc/nowhere"));
}

}  // namespace
}  // namespace accel
