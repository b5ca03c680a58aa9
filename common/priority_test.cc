#include "common/priority.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace accel::common {
namespace {

struct Priorities {
  bool may_raise;  // The child may have nice -20.
  int before;      // The nice value of the child before RaiseDaemonPriority().
  int for_jobs;    // What RaiseDaemonPriority() returned.
  int after;       // The nice value of the child after it.
};

// Takes the rights to raise a priority from this process.
bool GiveUpRights() {
  const rlimit no_nice = {0, 0};
  __user_cap_header_struct self = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct no_capabilities[_LINUX_CAPABILITY_U32S_3] = {};
  return setrlimit(RLIMIT_NICE, &no_nice) == 0 && syscall(SYS_capset, &self, no_capabilities) == 0;
}

// Calls RaiseDaemonPriority() in a child, because the priority of this process must stay. The child
// first sets the nice value `wanted`, if it may.
Priorities Raise(int wanted, bool with_rights = true) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (!with_rights && !GiveUpRights()) _exit(1);
    Priorities found{};
    const int own = getpriority(PRIO_PROCESS, 0);
    found.may_raise = setpriority(PRIO_PROCESS, 0, -20) == 0;
    if (found.may_raise || wanted > own) setpriority(PRIO_PROCESS, 0, wanted);
    found.before = getpriority(PRIO_PROCESS, 0);
    found.for_jobs = RaiseDaemonPriority();
    found.after = getpriority(PRIO_PROCESS, 0);
    _exit(write(ends[1], &found, sizeof(found)) == sizeof(found) ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Priorities found{};
  EXPECT_EQ(read(ends[0], &found, sizeof(found)), static_cast<ssize_t>(sizeof(found)));
  close(ends[0]);
  close(ends[1]);
  return found;
}

TEST(PriorityTest, ADaemonThatMayRunsBeforeJobs) {
  const Priorities found = Raise(0);
  EXPECT_EQ(found.for_jobs, found.may_raise ? 0 : std::max(found.before, 0));
  EXPECT_EQ(found.after, found.may_raise ? -10 : found.before);
}

TEST(PriorityTest, ADaemonWithoutRightsKeepsItsPriority) {
  const Priorities found = Raise(0, /*with_rights=*/false);
  EXPECT_FALSE(found.may_raise);
  EXPECT_EQ(found.after, found.before);
  EXPECT_GE(found.for_jobs, 0);
}

TEST(PriorityTest, APriorityThatWasChosenIsKept) {
  const Priorities found = Raise(19);
  EXPECT_EQ(found.for_jobs, 19);
  EXPECT_EQ(found.after, 19);
}

TEST(PriorityTest, AThreadThatWorksMuchLowersItsOwnAlone) {
  const int before = getpriority(PRIO_PROCESS, 0);
  int after = -1;
  std::thread([&after] {
    setpriority(PRIO_PROCESS, 0, -5);  // Fails without rights, and the thread then has `before`.
    LowerThreadPriority();
    after = getpriority(PRIO_PROCESS, 0);
  }).join();
  EXPECT_GE(after, 0);
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), before);
}

TEST(PriorityTest, JobsNeverGetAHighPriority) {
  const Priorities found = Raise(-5);
  EXPECT_EQ(found.for_jobs, found.may_raise ? 0 : std::max(found.before, 0));
  EXPECT_EQ(found.after, found.may_raise ? -5 : found.before);
}

}  // namespace
}  // namespace accel::common
