#include "rendezvous/core/byte_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace accel::rendezvous {
namespace {

constexpr size_t kLeastCapacity = 48;
// Assign() keeps memory of up to this size, regardless of the size of the new content.
constexpr size_t kSmall = 1024;
// From this size on, memory is mapped directly and returned to the system when it is freed.
// malloc() would keep such blocks after it has freed a few of them, because it then raises its
// threshold for mapping.
constexpr size_t kLeastMapped = 256 << 10;
constexpr size_t kPage = 4096;

char* OrNull(void* mapped) { return mapped == MAP_FAILED ? nullptr : static_cast<char*>(mapped); }

char* Map(size_t bytes) {
  return OrNull(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

// Returns the capacity that is allocated for `capacity`.
size_t Rounded(size_t capacity) {
  return capacity < kLeastMapped ? capacity : (capacity + kPage - 1) / kPage * kPage;
}

void Release(char* data, size_t capacity) {
  if (capacity < kLeastMapped) {
    std::free(data);
  } else {
    munmap(data, capacity);
  }
}

// Works like realloc(): on failure it returns null and `data` remains valid. Keeps the
// first `used` bytes.
char* Grow(char* data, size_t used, size_t before, size_t after) {
  if (after < kLeastMapped) return static_cast<char*>(std::realloc(data, after));
  if (before >= kLeastMapped) return OrNull(mremap(data, before, after, MREMAP_MAYMOVE));
  char* mapped = Map(after);
  if (mapped == nullptr) return nullptr;
  if (used > 0) std::memcpy(mapped, data, used);
  Release(data, before);
  return mapped;
}

}  // namespace

ByteBuffer::ByteBuffer(ByteBuffer&& other) noexcept
    : budget_(other.budget_),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

ByteBuffer& ByteBuffer::operator=(ByteBuffer&& other) noexcept {
  if (this != &other) {
    Free();
    budget_ = other.budget_;
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
  }
  return *this;
}

bool ByteBuffer::Append(absl::string_view bytes) {
  if (!Reserve(bytes.size())) return false;
  if (!bytes.empty()) std::memcpy(tail(), bytes.data(), bytes.size());
  size_ += bytes.size();
  return true;
}

bool ByteBuffer::Assign(absl::string_view bytes) {
  const bool wasteful = capacity_ > kSmall && capacity_ / 2 > bytes.size();
  if (bytes.size() > capacity_ || wasteful) {
    ByteBuffer fresh(budget_);
    if (!fresh.Append(bytes)) return false;
    *this = std::move(fresh);
    return true;
  }
  if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
  size_ = bytes.size();
  return true;
}

bool ByteBuffer::Reserve(size_t extra) {
  if (extra <= capacity_ - size_) return true;
  const size_t needed = size_ + extra;
  // The larger size is tried first. Near the end of the budget, only the exact size may fit.
  return SetCapacity(std::max({needed, capacity_ + capacity_ / 2, kLeastCapacity})) ||
         SetCapacity(needed);
}

void ByteBuffer::RemovePrefix(size_t count) {
  if (count == 0) return;
  std::memmove(data_, data_ + count, size_ - count);
  size_ -= count;
}

void ByteBuffer::Free() {
  Release(data_, capacity_);
  budget_->Release(capacity_);
  data_ = nullptr;
  size_ = capacity_ = 0;
}

bool ByteBuffer::SetCapacity(size_t capacity) {
  capacity = Rounded(capacity);
  if (!budget_->TryCharge(capacity - capacity_)) return false;
  char* grown = Grow(data_, size_, capacity_, capacity);
  if (grown == nullptr) {
    budget_->Release(capacity - capacity_);
    return false;
  }
  data_ = grown;
  capacity_ = capacity;
  return true;
}

}  // namespace accel::rendezvous
