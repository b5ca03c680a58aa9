// The wait of one process for another's progress in shared memory. It spins for a while, and then
// sleeps in the kernel (futex) until it is woken.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace accel::runtime {

// A counter in memory that several processes map. One process sets it, and others wait for it.
// `value` wraps around, so compare it with has_reached(). The counters of two ranks never differ by
// 2^31 or more, because no rank is more than one round ahead.
struct ProgressWord {
  std::atomic<std::uint32_t> value{0};
  std::atomic<std::uint32_t> sleepers{0};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

// Returns true if `value` is `target` or later, across the wrap.
inline bool has_reached(std::uint32_t value, std::uint32_t target) {
  return static_cast<std::int32_t>(value - target) >= 0;
}

// Sets the counter and wakes the processes that wait for it. Everything that this thread wrote
// before is visible to a process that sees the new value.
void set_progress(ProgressWord& word, std::uint32_t value);

// Spins for about `spin`, then sleeps for at most `sleep`. Returns true if `word` has reached
// `target`. May return false early.
bool wait_progress(ProgressWord& word, std::uint32_t target, std::chrono::microseconds spin,
                   std::chrono::milliseconds sleep);

// Returns the number of cores on which this process may run, at least 1.
int usable_cores();

// Returns how long to spin before sleeping. Spinning pays because waking up costs tens of
// microseconds. Returns 0 if ranks outnumber the cores that this process may use. A rank that spins
// would then take the core from the rank for which it waits.
std::chrono::microseconds spin_time(int ranks_on_host);

}  // namespace accel::runtime
