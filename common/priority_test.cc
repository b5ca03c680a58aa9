#include "common/priority.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace accel::common {
namespace {

struct Priorities {
  bool may_raise;  // The child may have nice -20.
  int for_jobs;    // What RaiseDaemonPriority() returned.
  int after;       // The nice value of the child after it.
};

// Calls RaiseDaemonPriority() in a child that has a nice value of `before`, because the priority of
// this process must stay. Only root may have a negative `before`.
Priorities Raise(int before) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    Priorities found{};
    found.may_raise = setpriority(PRIO_PROCESS, 0, -20) == 0;
    if (setpriority(PRIO_PROCESS, 0, before) != 0) _exit(1);
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
  if (getpriority(PRIO_PROCESS, 0) > 0) GTEST_SKIP() << "this process has a low priority";
  const Priorities found = Raise(0);
  EXPECT_EQ(found.for_jobs, 0);
  EXPECT_EQ(found.after, found.may_raise ? -10 : 0);
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
  if (!Raise(19).may_raise) GTEST_SKIP() << "this process may not raise its priority";
  const Priorities found = Raise(-5);
  EXPECT_EQ(found.for_jobs, 0);
  EXPECT_EQ(found.after, -5);
}

}  // namespace
}  // namespace accel::common
