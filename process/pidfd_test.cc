#include "process/pidfd.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/process_table.h"

namespace accel::process {
namespace {

TEST(Pidfd, IsReadableOnceTheProcessHasEnded) {
  const pid_t child = fork();
  if (child == 0) {
    while (true) pause();
  }
  const uint64_t start_time = ReadProcess(child)->start_time_ticks;
  const common::UniqueFd pidfd = OpenProcess(child, start_time);
  ASSERT_TRUE(pidfd.valid());
  pollfd ended = {pidfd.get(), POLLIN, 0};
  EXPECT_EQ(poll(&ended, 1, 0), 0);
  EXPECT_TRUE(IsRunning(child, start_time));
  kill(child, SIGKILL);
  EXPECT_EQ(poll(&ended, 1, 20'000), 1);
  EXPECT_FALSE(IsRunning(child, start_time)) << "a zombie has ended";
  EXPECT_FALSE(OpenProcess(child, start_time).valid());
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(IsRunning(child, start_time));
}

TEST(Pidfd, AnotherProcessWithThePidIsNotMeant) {
  const uint64_t start_time = ReadProcess(getpid())->start_time_ticks;
  EXPECT_TRUE(IsRunning(getpid(), start_time));
  EXPECT_FALSE(IsRunning(getpid(), start_time + 1));
  EXPECT_FALSE(OpenProcess(getpid(), start_time + 1).valid());
  EXPECT_FALSE(OpenProcess(0, 0).valid());
}

}  // namespace
}  // namespace accel::process
