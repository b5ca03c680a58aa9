#include "runtime/comm/shared_memory_wait.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace accel::runtime {
namespace {

using Clock = std::chrono::steady_clock;

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

// Does not use FUTEX_PRIVATE, because several processes map the word.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) {
  return syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

}  // namespace

void set_progress(ProgressWord& word, std::uint32_t value) {
  // The store and the load are sequentially consistent, as are the sleeper's increment and second
  // look in wait_progress(). So either the sleeper sees the new value, or this thread sees the
  // sleeper. Otherwise a wake-up could be lost.
  word.value.store(value, std::memory_order_seq_cst);
  if (word.sleepers.load(std::memory_order_seq_cst) != 0) {
    futex(word.value, FUTEX_WAKE, INT_MAX, nullptr);
  }
}

bool wait_progress(ProgressWord& word, std::uint32_t target, std::chrono::microseconds spin,
                   std::chrono::milliseconds sleep) {
  constexpr int kLooksPerClock = 32;
  for (const auto until = Clock::now() + spin;;) {
    for (int i = 0; i < kLooksPerClock; ++i) {
      if (has_reached(word.value.load(std::memory_order_acquire), target)) return true;
      pause_briefly();
    }
    if (Clock::now() >= until) break;
  }
  word.sleepers.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t seen = word.value.load(std::memory_order_seq_cst);
  if (!has_reached(seen, target)) {
    const timespec timeout{.tv_sec = sleep.count() / 1000,
                           .tv_nsec = sleep.count() % 1000 * 1'000'000};
    futex(word.value, FUTEX_WAIT, seen, &timeout);
  }
  word.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  return has_reached(word.value.load(std::memory_order_acquire), target);
}

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return CPU_COUNT(&set);
}

std::chrono::microseconds spin_time(int ranks_on_host) {
  return std::chrono::microseconds(ranks_on_host <= usable_cores() ? 100 : 0);
}

}  // namespace accel::runtime
