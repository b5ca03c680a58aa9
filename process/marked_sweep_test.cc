#include "process/marked_sweep.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "process/spawn.h"

namespace accel::process {
namespace {

pid_t StartSleep(const std::string& variable) {
  SpawnOptions options;
  options.path = "/bin/sleep";
  options.argv = {"sleep", "600"};
  options.env = {"PATH=/usr/bin:/bin", variable, "LAST=1"};
  options.fds = {{0, 0}, {1, 1}, {2, 2}};
  return Spawn(options, false).pid;
}

bool WasKilled(pid_t pid) {
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

TEST(MarkedSweep, KillsWhatCarriesTheMarkAndNothingElse) {
  const std::string mark = absl::StrCat("ACCEL_SWEEP_TEST=", getpid(), "/");
  const pid_t marked = StartSleep(mark + "one");
  const pid_t stopped = StartSleep(mark + "two");
  const pid_t other = StartSleep(absl::StrCat("ACCEL_SWEEP_TEST=", getpid(), "0/one"));
  const pid_t inside = StartSleep(absl::StrCat("X", mark, "one"));
  kill(stopped, SIGSTOP);
  EXPECT_EQ(KillMarked(mark), 2);
  EXPECT_TRUE(WasKilled(marked));
  EXPECT_TRUE(WasKilled(stopped));
  EXPECT_EQ(KillMarked(mark), 0);
  EXPECT_EQ(waitpid(other, nullptr, WNOHANG), 0);
  EXPECT_EQ(waitpid(inside, nullptr, WNOHANG), 0);
  for (pid_t pid : {other, inside}) {
    kill(pid, SIGTERM);
    waitpid(pid, nullptr, 0);
  }
}

TEST(MarkedSweep, AProcessThatIsInExecIsNotMissed) {
  const std::string mark = absl::StrCat("ACCEL_SWEEP_TEST=", getpid(), "/exec");
  const std::string again = "exec /bin/sh -c \"$0\" \"$0\"";
  int missed = 0;
  for (int i = 0; i < 200; ++i) {
    SpawnOptions options;
    options.path = "/bin/sh";
    options.argv = {"sh", "-c", again, again};
    options.env = {mark};
    options.fds = {{0, 0}, {1, 1}, {2, 2}};
    const pid_t pid = Spawn(options, false).pid;
    ASSERT_GT(pid, 0);
    missed += KillMarked(mark) == 1 ? 0 : 1;
    kill(pid, SIGKILL);
    EXPECT_TRUE(WasKilled(pid));
  }
  EXPECT_EQ(missed, 0);
}

}  // namespace
}  // namespace accel::process
