#include "process/thread_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace accel::process {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ThreadStatesTest, ASleepingThreadHasItsNameItsStateAndItsSystemCall) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread reader([&] {
    pthread_setname_np(pthread_self(), "re\x1b\"ad");
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
  });
  const absl::Time until = absl::Now() + absl::Seconds(30);
  std::string text;
  do {
    text = absl::StrJoin(DescribeThreads(getpid(), 1 << 14), "\n");
  } while (text.find("(sleeping), in system call read") == std::string::npos &&
           absl::Now() < until);
  EXPECT_THAT(text, HasSubstr("\"re\\x1b\"ad\": state S (sleeping), in system call read ("));
  EXPECT_THAT(text, StartsWith(absl::StrCat("thread ", getpid(), " \"")));
  EXPECT_EQ(write(ends[1], "x", 1), 1);
  reader.join();
  close(ends[0]);
  close(ends[1]);
}

TEST(ThreadStatesTest, AStoppedProcessIsDescribedWithoutWaitingForIt) {
  const pid_t child = fork();
  if (child == 0) {
    while (true) pause();
  }
  kill(child, SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  EXPECT_THAT(DescribeThreads(child, 1 << 14),
              Contains(HasSubstr("state T (stopped by a signal)")));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(ThreadStatesTest, TheSizeIsBoundedAndTheRestCounted) {
  std::vector<std::thread> threads;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&] {
      char byte = 0;
      static_cast<void>(read(ends[0], &byte, 1));
    });
  }
  const std::vector<std::string> lines = DescribeThreads(getpid(), 400);
  EXPECT_LE(absl::StrJoin(lines, "").size(), 450u);
  EXPECT_THAT(lines.back(), HasSubstr(" more threads"));
  EXPECT_GT(lines.size(), 1u);
  close(ends[1]);
  for (std::thread& thread : threads) thread.join();
  close(ends[0]);
}

TEST(ThreadStatesTest, AProcessThatHasEndedHasNoThreads) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  EXPECT_THAT(DescribeThreads(child, 1 << 14), ::testing::ElementsAre("no threads"));
}

}  // namespace
}  // namespace accel::process
