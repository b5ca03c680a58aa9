#include "process/sweep.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "process/process_table.h"
#include "process/spawn.h"
#include "process/stop_and_kill.h"

namespace accel::process {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(20);

// Returns the number of children, adopted ones included.
int CountChildren() {
  int children = 0;
  for (const ProcessEntry& entry : ReadProcessTable()) children += entry.parent == getpid();
  return children;
}

pid_t Start(const std::string& script) {
  SpawnOptions options;
  options.path = "/bin/sh";
  options.argv = {"sh", "-c", script};
  options.env = {"PATH=/usr/bin:/bin"};
  options.fds = {{0, 0}, {1, 1}, {2, 2}};
  return Spawn(options, false).pid;
}

void EndAll(pid_t spared = 0) {
  const absl::Time until = absl::Now() + kTimeout;
  while (!EndOrphans([spared](pid_t pid) { return pid == spared; })) {
    ASSERT_LT(absl::Now(), until);
    absl::SleepFor(absl::Milliseconds(1));
  }
}

class SweepTest : public ::testing::Test {
 protected:
  SweepTest() { BecomeSubreaper(); }
};

TEST_F(SweepTest, NothingToDo) {
  EXPECT_EQ(KillDescendants(), 0);
  EXPECT_TRUE(EndOrphans([](pid_t) { return false; }));
}

TEST_F(SweepTest, EscapedAndStoppedDescendants) {
  const pid_t parent = Start("setsid sh -c 'kill -STOP $$' & (setsid sleep 1000 &) & sleep 1000");
  const absl::Time until = absl::Now() + kTimeout;
  while (CountChildren() < 2 && absl::Now() < until) absl::SleepFor(absl::Milliseconds(1));
  EndAll();
  EXPECT_FALSE(ReadProcess(parent).has_value());
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST_F(SweepTest, ExcludedOnesAndTheirChildrenLive) {
  const pid_t spared = Start("sleep 1000 & wait");
  const pid_t other = Start("sleep 1000 & wait");
  EndAll(spared);
  EXPECT_FALSE(ReadProcess(other).has_value());
  ASSERT_TRUE(ReadProcess(spared).has_value());
  EXPECT_FALSE(ReadProcess(spared)->zombie());
  EXPECT_NE(ReadProcess(spared)->state, 'T') << "not even stopped";
  EndAll();
}

TEST_F(SweepTest, SignalsGoOnlyToTheProcessThatWasMeant) {
  const pid_t pid = Start("sleep 1000");
  const auto entry = ReadProcess(pid);
  ASSERT_TRUE(entry.has_value());
  EXPECT_FALSE(SignalProcess(pid, entry->start_time_ticks + 1, SIGKILL));
  EXPECT_FALSE(ReadProcess(pid)->zombie());
  EXPECT_TRUE(SignalProcess(pid, entry->start_time_ticks, SIGKILL));
  EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
  EXPECT_FALSE(SignalProcess(pid, entry->start_time_ticks, SIGKILL));
}

}  // namespace
}  // namespace accel::process
