#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <utility>

namespace accel::runtime {

// How memory is page-locked, so that a GPU can copy into it directly. Both are empty without a GPU.
struct PageLocks {
  // Returns false if that is refused.
  std::function<bool(void* memory, std::size_t size)> lock;
  std::function<void(void* memory)> unlock;
};

// The memory to which a save copies the state before it is written. It is kept from save to save,
// because the first touch of fresh memory costs more than the copy, and uses huge pages if the
// system has them. Not thread-safe.
class StagingMemory {
 public:
  explicit StagingMemory(PageLocks locks = {}) : locks_(std::move(locks)) {}
  ~StagingMemory();
  StagingMemory(const StagingMemory&) = delete;
  StagingMemory& operator=(const StagingMemory&) = delete;

  // Allocates `size` bytes for a later reserve(), and touches and locks them in the background. If
  // that is more than there is, the contents are lost. Throws std::bad_alloc.
  void prepare(std::size_t size);

  // Returns at least `size` bytes, or null if no memory was ever needed. If that is more than there
  // is, the contents are lost. Throws std::bad_alloc.
  char* reserve(std::size_t size);

 private:
  void grow(std::size_t size);
  void lock();
  void release();

  const PageLocks locks_;
  char* memory_ = nullptr;
  std::size_t size_ = 0;
  bool is_locked_ = false;  // Written by toucher_ while it runs.
  std::jthread toucher_;
};

}  // namespace accel::runtime
