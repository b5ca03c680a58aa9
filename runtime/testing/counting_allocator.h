// Counts the memory of tensors, for tests that bound it.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace accel::runtime {

// Counts the bytes of tensors of the CPU.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t size) override {
    c10::DataPtr memory = c10::GetDefaultCPUAllocator()->allocate(size);
    void* const address = memory.get();
    if (address != nullptr) {
      const std::lock_guard lock(mutex_);
      blocks_[address] = {std::move(memory), size};
      live_ += static_cast<std::int64_t>(size);
      peak_ = std::max(peak_, live_);
    }
    if (until_call_ > 0 && --until_call_ == 0) call_();
    return {address, address, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t size) const override {
    default_copy_data(to, from, size);
  }
  std::int64_t live() const {
    const std::lock_guard lock(mutex_);
    return live_;
  }
  // Returns the highest number of bytes since the last call.
  std::int64_t take_peak() {
    const std::lock_guard lock(mutex_);
    return std::exchange(peak_, live_);
  }
  // Calls `body` in the allocation of this number, counted from 1 after this call. No other thread
  // may make tensors meanwhile.
  void at_allocation(int number, std::function<void()> body) {
    call_ = std::move(body);
    until_call_ = number;
  }

 private:
  static void release(void* address);

  mutable std::mutex mutex_;
  std::map<void*, std::pair<c10::DataPtr, std::size_t>> blocks_;
  std::int64_t live_ = 0, peak_ = 0;
  std::atomic<int> until_call_ = 0;
  std::function<void()> call_;
};

// Returns the allocator, which counts from the first call on.
inline CountingAllocator& counted() {
  static auto* const allocator = [] {
    auto* const made = new CountingAllocator;
    c10::SetCPUAllocator(made, /*priority=*/100);
    return made;
  }();
  return *allocator;
}

inline void CountingAllocator::release(void* address) {
  if (address == nullptr) return;
  CountingAllocator& from = counted();
  const std::lock_guard lock(from.mutex_);
  const auto block = from.blocks_.find(address);
  from.live_ -= static_cast<std::int64_t>(block->second.second);
  from.blocks_.erase(block);
}

}  // namespace accel::runtime
