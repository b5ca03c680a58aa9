#include "process/max_processes.h"

#include <gtest/gtest.h>

namespace accel::process {
namespace {

TEST(DefaultMaxProcesses, LeavesAQuarterOfTheSmallestRoom) {
  EXPECT_EQ(DefaultMaxProcesses({.ids = 4096, .threads = 100'000, .group = {}, .cpus = 2}), 3072);
  EXPECT_EQ(DefaultMaxProcesses({.ids = 100'000, .threads = 4096, .group = {}, .cpus = 2}), 3072);
  EXPECT_EQ(DefaultMaxProcesses({.ids = 100'000, .threads = 100'000, .group = 1000, .cpus = 2}),
            750);
}

TEST(DefaultMaxProcesses, GrowsWithTheCpus) {
  constexpr int64_t kIds = 4'194'304;
  EXPECT_EQ(DefaultMaxProcesses({.ids = kIds, .threads = kIds, .group = {}, .cpus = 2}), 16'384);
  EXPECT_EQ(DefaultMaxProcesses({.ids = kIds, .threads = kIds, .group = {}, .cpus = 192}), 196'608);
}

TEST(DefaultMaxProcesses, TakesNoUnknownNumberForARoom) {
  EXPECT_EQ(DefaultMaxProcesses({}), 16'384);
  EXPECT_EQ(DefaultMaxProcesses({.ids = 32'768, .threads = 0, .group = {}, .cpus = 0}), 16'384);
}

TEST(DefaultMaxProcesses, IsNeverTooSmallForAJob) {
  EXPECT_EQ(DefaultMaxProcesses({.ids = 32'768, .threads = 32'768, .group = 4, .cpus = 1}),
            kLeastMaxProcesses);
}

TEST(ReadProcessRoom, KnowsThisMachine) {
  const ProcessRoom room = ReadProcessRoom(77);
  EXPECT_GT(room.ids, 300);
  EXPECT_GT(room.threads, 20);
  EXPECT_EQ(room.group, 77);
  EXPECT_GE(room.cpus, 1);
}

}  // namespace
}  // namespace accel::process
