#include "agent/tcp_store/byte_buffer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace accel::tcp_store {
namespace {

constexpr size_t kLeastCapacity = 48;
// Assign keeps memory up to this size whatever it holds.
constexpr size_t kSmall = 1024;

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
  // The generous size first; near the budget's end exactly what is needed may still fit.
  return SetCapacity(std::max({needed, capacity_ + capacity_ / 2, kLeastCapacity})) ||
         SetCapacity(needed);
}

void ByteBuffer::RemovePrefix(size_t count) {
  if (count == 0) return;
  std::memmove(data_, data_ + count, size_ - count);
  size_ -= count;
}

void ByteBuffer::Free() {
  std::free(data_);
  budget_->Release(capacity_);
  data_ = nullptr;
  size_ = capacity_ = 0;
}

bool ByteBuffer::SetCapacity(size_t capacity) {
  if (!budget_->TryCharge(capacity - capacity_)) return false;
  void* grown = std::realloc(data_, capacity);
  if (grown == nullptr) {
    budget_->Release(capacity - capacity_);
    return false;
  }
  data_ = static_cast<char*>(grown);
  capacity_ = capacity;
  return true;
}

}  // namespace accel::tcp_store
