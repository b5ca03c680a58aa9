#include "runtime/comm/shared_memory_wait.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>

namespace accel::runtime {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

struct TwoWords {
  ProgressWord parent, child;
};

// Returns words in memory that a forked child shares.
TwoWords* map_words() {
  void* memory =
      mmap(nullptr, sizeof(TwoWords), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (memory) TwoWords;
}

milliseconds cpu_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) {
    return std::chrono::seconds(t.tv_sec) + microseconds(t.tv_usec);
  };
  return std::chrono::duration_cast<milliseconds>(of(usage.ru_utime) + of(usage.ru_stime));
}

TEST(SharedMemoryWaitTest, ComparesAroundTheWrap) {
  EXPECT_TRUE(has_reached(5, 5));
  EXPECT_FALSE(has_reached(4, 5));
  EXPECT_TRUE(has_reached(2, 0xfffffffe));
  EXPECT_FALSE(has_reached(0xfffffffe, 2));
}

TEST(SharedMemoryWaitTest, ReturnsImmediatelyIfTheTargetIsReached) {
  ProgressWord word;
  set_progress(word, 3);
  EXPECT_TRUE(wait_progress(word, 3, microseconds(0), std::chrono::hours(1)));
}

TEST(SharedMemoryWaitTest, SleepsWithoutUsingTheProcessor) {
  ProgressWord word;
  const auto begin = Clock::now();
  const milliseconds cpu = cpu_time();
  EXPECT_FALSE(wait_progress(word, 1, microseconds(100), milliseconds(300)));
  EXPECT_GE(Clock::now() - begin, milliseconds(290));
  EXPECT_LT((cpu_time() - cpu).count(), 100);
  EXPECT_EQ(word.sleepers.load(), 0u);
}

// Two processes take turns, with and without spinning. If a wake-up were lost, the test would hang
// until the wait times out.
TEST(SharedMemoryWaitTest, ProcessesTakeTurns) {
  constexpr std::uint32_t kTurns = 2000;
  for (const microseconds spin : {microseconds(0), microseconds(20)}) {
    TwoWords* words = map_words();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    ProgressWord& mine = child == 0 ? words->child : words->parent;
    ProgressWord& peer = child == 0 ? words->parent : words->child;
    bool all = true;
    for (std::uint32_t turn = 1; all && turn <= kTurns; ++turn) {
      set_progress(mine, turn);
      all = wait_progress(peer, turn, spin, std::chrono::seconds(20));
    }
    if (child == 0) _exit(all ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_TRUE(all);
    EXPECT_EQ(status, 0);
    munmap(words, sizeof *words);
  }
}

TEST(SharedMemoryWaitTest, MoreRanksThanCoresDoNotSpin) {
  EXPECT_EQ(spin_time(1 << 20).count(), 0);
  EXPECT_GT(spin_time(1).count(), 0);
}

}  // namespace
}  // namespace accel::runtime
