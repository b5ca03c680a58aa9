#pragma once

#include <cstddef>
#include <thread>

namespace accel::runtime {

// The memory to which a save copies the state before it is written. It is kept from save to save,
// because the first touch of fresh memory costs more than the copy, and uses huge pages if the
// system has them. Not thread-safe.
class StagingMemory {
 public:
  StagingMemory() = default;
  ~StagingMemory();
  StagingMemory(const StagingMemory&) = delete;
  StagingMemory& operator=(const StagingMemory&) = delete;

  // Allocates `size` bytes for a later reserve(), and touches them in the background. If that is
  // more than there is, the contents are lost. Throws std::bad_alloc.
  void prepare(std::size_t size);

  // Returns at least `size` bytes, or null if no memory was ever needed. If that is more than there
  // is, the contents are lost. Throws std::bad_alloc.
  char* reserve(std::size_t size);

 private:
  void grow(std::size_t size);

  char* memory_ = nullptr;
  std::size_t size_ = 0;
  std::jthread toucher_;
};

}  // namespace accel::runtime
