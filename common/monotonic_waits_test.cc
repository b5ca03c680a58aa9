#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace accel::common {
namespace {

// Returns the operation of the futex call in which a thread of this process waits, or -1.
long FutexOperation(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
  std::string number, word, operation;
  file >> number >> word >> operation;
  return number == std::to_string(SYS_futex) ? std::stol(operation, nullptr, 16) : -1;
}

TEST(MonotonicWaitsTest, AbseilDoesNotWaitForTheWallClock) {
  absl::Mutex mutex;
  bool over = false;
  std::atomic<pid_t> thread = 0;
  std::thread waiting([&] {
    thread = static_cast<pid_t>(syscall(SYS_gettid));
    absl::MutexLock lock(&mutex);
    mutex.AwaitWithTimeout(absl::Condition(&over), absl::Hours(1));
  });
  long operation = -1;
  const absl::Time end = absl::Now() + absl::Seconds(20);
  while (operation == -1 && absl::Now() < end) {
    if (thread != 0) operation = FutexOperation(thread);
  }
  EXPECT_EQ(operation & FUTEX_CMD_MASK, FUTEX_WAIT_BITSET);
  EXPECT_EQ(operation & FUTEX_CLOCK_REALTIME, 0);
  {
    absl::MutexLock lock(&mutex);
    over = true;
  }
  waiting.join();
}

TEST(MonotonicWaitsTest, WaitsEndAtTheirTime) {
  absl::Mutex mutex;
  absl::MutexLock lock(&mutex);
  bool never = false;
  // A wall clock that is set back meanwhile would be behind.
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(mutex.AwaitWithTimeout(absl::Condition(&never), absl::Milliseconds(50)));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(50));
}

TEST(MonotonicWaitsTest, TimesThatAreLongOverEndAWait) {
  uint32_t word = 0;
  for (const time_t seconds : {time_t{0}, time(nullptr) - 1}) {
    const timespec until = {.tv_sec = seconds, .tv_nsec = 999'999'999};
    EXPECT_EQ(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &until,
                      nullptr, FUTEX_BITSET_MATCH_ANY),
              -1);
    EXPECT_EQ(errno, ETIMEDOUT);
  }
}

TEST(MonotonicWaitsTest, OtherCallsAreLeftUnchanged) {
  EXPECT_EQ(syscall(SYS_getpid), getpid());
  EXPECT_EQ(syscall(SYS_close, -1), -1);
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace accel::common
