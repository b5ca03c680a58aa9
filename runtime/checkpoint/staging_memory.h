#pragma once

#include <cstddef>
#include <thread>

namespace accel {

// Where the state is copied to before it is written. It is kept from save to save, since the first
// touch of fresh memory costs more than the copy, and is in large pages where there are any. Not
// thread-safe.
class StagingMemory {
 public:
  StagingMemory() = default;
  ~StagingMemory();
  StagingMemory(const StagingMemory&) = delete;
  StagingMemory& operator=(const StagingMemory&) = delete;

  // Touches that much in the background, for a reserve() that is to come. What was there is gone if
  // that is more than before. Throws std::bad_alloc.
  void prepare(std::size_t size);

  // At least `size` bytes; what was there is gone if that is more than before. Throws
  // std::bad_alloc.
  char* reserve(std::size_t size);

 private:
  void grow(std::size_t size);

  char* memory_ = nullptr;
  std::size_t size_ = 0;
  std::jthread toucher_;
};

}  // namespace accel
