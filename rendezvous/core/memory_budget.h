// One limit for everything that a store keeps: keys, values, waits and buffers (invariant 8).
#pragma once

#include <cstddef>

namespace accel::rendezvous {

// Not thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(size_t limit) : limit_(limit) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // Charges `bytes`. If that would exceed the limit, returns false and charges nothing.
  [[nodiscard]] bool TryCharge(size_t bytes) {
    if (bytes > limit_ - used_) return false;
    used_ += bytes;
    return true;
  }
  void Release(size_t bytes) { used_ -= bytes; }

  size_t used() const { return used_; }

 private:
  const size_t limit_;
  size_t used_ = 0;
};

}  // namespace accel::rendezvous
