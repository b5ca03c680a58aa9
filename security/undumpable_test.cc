#include "security/undumpable.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace accel::security {
namespace {

enum class Mode { kPlain, kUndumpable, kUndumpableThenExec };

// Aborts a process in the folder of this test that may write a core file. Returns true if it has.
bool LeavesCoreFile(Mode mode) {
  const pid_t child = fork();
  if (child == 0) {
    rlimit limit{};
    getrlimit(RLIMIT_CORE, &limit);
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_CORE, &limit) != 0 || chdir(std::getenv("TEST_TMPDIR")) != 0) _exit(1);
    if (mode != Mode::kPlain) BecomeUndumpable();
    if (mode == Mode::kUndumpableThenExec) {
      execl("/bin/sh", "sh", "-c", "kill -ABRT $$", nullptr);
      _exit(2);
    }
    std::abort();
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
  return WCOREDUMP(status);
}

TEST(UndumpableTest, LeavesNoCoreFileButProgramsThatItExecutesDo) {
  if (!LeavesCoreFile(Mode::kPlain)) GTEST_SKIP() << "this machine writes no core files";
  EXPECT_FALSE(LeavesCoreFile(Mode::kUndumpable));
  EXPECT_TRUE(LeavesCoreFile(Mode::kUndumpableThenExec));
}

}  // namespace
}  // namespace accel::security
