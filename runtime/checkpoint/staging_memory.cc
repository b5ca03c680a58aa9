#include "runtime/checkpoint/staging_memory.h"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace accel {

StagingMemory::~StagingMemory() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
}

char* StagingMemory::reserve(std::size_t size) {
  if (size <= size_) return memory_;
  if (memory_ != nullptr) ::munmap(std::exchange(memory_, nullptr), std::exchange(size_, 0));
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  (void)::madvise(memory, size, MADV_HUGEPAGE);  // Only a wish.
  memory_ = static_cast<char*>(memory);
  size_ = size;
  return memory_;
}

}  // namespace accel
