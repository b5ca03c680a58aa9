// One limit for everything that a store keeps: keys, values, waits, buffers.
#pragma once

#include <cstddef>

namespace accel::rendezvous {

// Not thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(size_t limit) : limit_(limit) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // False, with nothing charged, when the limit would be passed.
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
