// How one process waits for another's progress in shared memory: it looks for a while, then sleeps
// in the kernel until it is woken.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace accel {

// Lives in memory that several processes map. `value` counts up and wraps around; those who compare
// are never 2^31 apart.
struct ProgressWord {
  std::atomic<std::uint32_t> value{0};
  std::atomic<std::uint32_t> sleepers{0};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

inline bool has_reached(std::uint32_t value, std::uint32_t target) {
  return static_cast<std::int32_t>(value - target) >= 0;
}

// Publishes everything that this thread wrote before. One process sets a word, others wait for it.
void set_progress(ProgressWord& word, std::uint32_t value);

// Whether `word` reaches `target` before `sleep` is over: looks for about `spin`, then sleeps. May
// return false early.
bool wait_progress(ProgressWord& word, std::uint32_t target, std::chrono::microseconds spin,
                   std::chrono::milliseconds sleep);

// Of this process.
int usable_cores();

// How long looking pays before sleeping: waking up costs tens of microseconds, but where ranks
// outnumber the cores that this process may use, who looks takes the core from whom it waits for.
std::chrono::microseconds spin_time(int ranks_on_host);

}  // namespace accel
