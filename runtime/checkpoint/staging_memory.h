#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <utility>

namespace accel::runtime {

// The functions that lock memory for a GPU, so that it can copy into that memory directly. Both are
// empty without a GPU.
struct PageLocks {
  // Returns false if the system refuses to lock the memory.
  std::function<bool(void* memory, std::size_t size)> lock;
  std::function<void(void* memory)> unlock;
};

// The memory to which a save copies the state before it is written. It is kept from save to save,
// because the first touch of fresh memory costs more than the copy. It uses huge pages if the
// system has them. Not thread-safe.
class StagingMemory {
 public:
  explicit StagingMemory(PageLocks locks = {}) : locks_(std::move(locks)) {}
  ~StagingMemory();
  StagingMemory(const StagingMemory&) = delete;
  StagingMemory& operator=(const StagingMemory&) = delete;

  // Allocates `size` bytes for a later reserve(), and touches and locks them in the background. If
  // the memory must grow, its contents are lost. Throws std::bad_alloc.
  void prepare(std::size_t size);

  // Returns at least `size` bytes, or null if no memory was ever needed. If the memory must grow,
  // its contents are lost. Throws std::bad_alloc.
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
