#include "agent/state/state_dir.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "common/status_matchers.h"
#include "common/unique_fd.h"
#include "process/process_table.h"

namespace accel::agent {
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
  common::NodeId first;
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
  common::UniqueFd of_a_shim;
  {
    absl::StatusOr<StateDir> dir = StateDir::Open(path, absl::ZeroDuration());
    ASSERT_OK(dir);
    of_a_shim = common::UniqueFd(dup(dir->lock_fd()));
  }
  EXPECT_THAT(StateDir::Open(path, absl::ZeroDuration()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("in use")));
  of_a_shim.reset();
  EXPECT_OK(StateDir::Open(path, absl::ZeroDuration()));
}

bool IsAlive(pid_t pid) {
  const auto entry = process::ReadProcess(pid);
  return entry.has_value() && !entry->zombie();
}

void AwaitDeath(pid_t pid) {
  const absl::Time give_up = absl::Now() + absl::Minutes(1);
  while (IsAlive(pid) && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_FALSE(IsAlive(pid));
}

// Starts an agent that dies and leaves a shim, and a worker in a separate session. Both ignore
// requests to stop. Returns the pids of the shim and of the worker.
std::pair<pid_t, pid_t> LeaveAShim(const std::string& path) {
  int pids[2];
  EXPECT_EQ(pipe(pids), 0);
  const pid_t agent = fork();
  if (agent == 0) {
    absl::StatusOr<StateDir> dir = StateDir::Open(path, absl::ZeroDuration());
    if (!dir.ok()) _exit(1);
    if (fork() > 0) _exit(0);
    const pid_t worker = fork();
    if (worker == 0) {
      setsid();
      close(dir->lock_fd());
      while (true) pause();
    }
    const pid_t both[2] = {getpid(), worker};
    if (write(pids[1], both, sizeof(both)) != sizeof(both)) _exit(1);
    while (true) pause();
  }
  waitpid(agent, nullptr, 0);
  pid_t both[2] = {0, 0};
  EXPECT_EQ(read(pids[0], both, sizeof(both)), static_cast<ssize_t>(sizeof(both)));
  close(pids[0]);
  close(pids[1]);
  return {both[0], both[1]};
}

TEST(StateDir, ShimsOfADeadAgentAreEndedWithAllThatDescendsFromThem) {
  const std::string path = NewDir("dead");
  const auto [shim, worker] = LeaveAShim(path);
  ASSERT_TRUE(IsAlive(shim));
  ASSERT_TRUE(IsAlive(worker));
  EXPECT_OK(StateDir::Open(path, absl::Milliseconds(10)));
  AwaitDeath(shim);
  AwaitDeath(worker);
}

TEST(StateDir, ACopyIsAnotherNode) {
  const std::string path = NewDir("original");
  const auto id_of = [](const std::string& dir) {
    absl::StatusOr<StateDir> open = StateDir::Open(dir, absl::ZeroDuration());
    EXPECT_OK(open);
    return open.ok() ? open->node_id().value() : "";
  };
  const std::string original = id_of(path);
  const std::string copy = NewDir("copy");
  std::filesystem::copy(path, copy, std::filesystem::copy_options::recursive);
  const std::string other = id_of(copy);
  EXPECT_NE(other, original);
  EXPECT_EQ(id_of(copy), other);
  EXPECT_EQ(id_of(path), original);

  const std::string moved = NewDir("moved");
  std::filesystem::rename(path, moved);
  EXPECT_EQ(id_of(moved), original) << "a directory that was renamed is the same one";
}

// A directory from a version that did not write the inode.
TEST(StateDir, AnIdAloneIsTakenOver) {
  const std::string path = NewDir("old");
  std::filesystem::create_directories(path);
  std::ofstream(path + "/node_id") << "0123456789abcdef\n";
  for (int i = 0; i < 2; ++i) {
    absl::StatusOr<StateDir> dir = StateDir::Open(path, absl::ZeroDuration());
    ASSERT_OK(dir);
    EXPECT_EQ(dir->node_id().value(), "0123456789abcdef");
  }
}

TEST(StateDir, SaysWhichPathItCannotMake) {
  EXPECT_THAT(StateDir::Open("/proc/nowhere", absl::ZeroDuration()).status().ToString(),
              HasSubstr("/proc/nowhere"));
}

}  // namespace
}  // namespace accel::agent
