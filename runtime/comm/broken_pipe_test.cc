#include "runtime/comm/broken_pipe.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace accel::runtime {
namespace {

// Writes to a pipe that nobody reads. Returns errno.
int write_to_a_broken_pipe() {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  close(ends[0]);
  const ssize_t written = write(ends[1], "x", 1);
  const int error = errno;
  close(ends[1]);
  return written == -1 ? error : 0;
}

// Each case has a process of its own, because the setting is the process's.
TEST(BrokenPipeTest, IsAnErrorAndNotASignal) {
  EXPECT_EXIT(std::exit(write_to_a_broken_pipe()), testing::KilledBySignal(SIGPIPE), "");
  EXPECT_EXIT(
      {
        survive_broken_pipes();
        std::exit(write_to_a_broken_pipe());
      },
      testing::ExitedWithCode(EPIPE), "");
}

TEST(BrokenPipeTest, AnExecutedProgramHasTheDefaultAction) {
  EXPECT_EXIT(
      {
        survive_broken_pipes();
        execl("/bin/sh", "sh", "-c", "kill -PIPE $$; exit 0", nullptr);
      },
      testing::KilledBySignal(SIGPIPE), "");
}

TEST(BrokenPipeTest, TheProgramsOwnActionRemains) {
  EXPECT_EXIT(
      {
        std::signal(SIGPIPE, [](int) { _exit(42); });
        survive_broken_pipes();
        write_to_a_broken_pipe();
        std::exit(0);
      },
      testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace accel::runtime
