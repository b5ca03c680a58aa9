#include "runtime/checkpoint/staging_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <stop_token>
#include <utility>

namespace accel::runtime {
namespace {

// How many bytes are touched before the stop token is checked again.
constexpr std::size_t kStep = 16 << 20;

// Touches all pages. Best effort: pages that cannot be pre-faulted are faulted in by the copy.
void touch(const std::stop_token& stop, char* memory, std::size_t size) {
  for (std::size_t at = 0; at < size && !stop.stop_requested(); at += kStep) {
    if (::madvise(memory + at, std::min(kStep, size - at), MADV_POPULATE_WRITE) != 0) return;
  }
}

}  // namespace

StagingMemory::~StagingMemory() {
  toucher_ = {};
  release();
}

void StagingMemory::release() {
  if (memory_ == nullptr) return;
  if (std::exchange(is_locked_, false)) locks_.unlock(memory_);
  ::munmap(std::exchange(memory_, nullptr), std::exchange(size_, 0));
}

void StagingMemory::lock() {
  if (memory_ == nullptr || is_locked_ || locks_.lock == nullptr) return;
  is_locked_ = locks_.lock(memory_, size_);
}

void StagingMemory::grow(std::size_t size) {
  toucher_ = {};
  if (size <= size_) return;
  release();
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  (void)::madvise(memory, size, MADV_HUGEPAGE);  // A hint: if refused, small pages are used.
  memory_ = static_cast<char*>(memory);
  size_ = size;
}

void StagingMemory::prepare(std::size_t size) {
  if (size <= size_) return;
  grow(size);
  toucher_ = std::jthread([this, size](const std::stop_token& stop) {
    touch(stop, memory_, size);
    if (!stop.stop_requested()) lock();
  });
}

char* StagingMemory::reserve(std::size_t size) {
  grow(size);
  lock();
  return memory_;
}

}  // namespace accel::runtime
