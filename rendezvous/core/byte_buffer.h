// Growable bytes that are charged to a budget before they are allocated.
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"
#include "rendezvous/core/memory_budget.h"

namespace accel::rendezvous {

// Not thread-safe. If bytes cannot be charged or allocated, a call returns false and leaves the
// content unchanged. Large buffers grow without copying, and return their memory to the system when
// they are freed.
class ByteBuffer {
 public:
  // `budget` must outlive the buffer.
  explicit ByteBuffer(MemoryBudget* budget) : budget_(budget) {}
  ByteBuffer(ByteBuffer&& other) noexcept;
  ByteBuffer& operator=(ByteBuffer&& other) noexcept;
  ~ByteBuffer() { Free(); }

  absl::string_view view() const { return absl::string_view(data_, size_); }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }

  // Appends `bytes`, which must not lie in this buffer.
  [[nodiscard]] bool Append(absl::string_view bytes);

  // Replaces the content. Also frees memory if the buffer is far larger than the new content needs.
  [[nodiscard]] bool Assign(absl::string_view bytes);

  // Makes room for `extra` bytes after the content, at tail(). Grows the memory by at least half
  // if the budget has room for that, so that many small appends remain cheap.
  [[nodiscard]] bool Reserve(size_t extra);
  char* tail() { return data_ + size_; }
  // Adds the `written` bytes at tail() to the content.
  void Extend(size_t written) { size_ += written; }

  // Removes the first `count` bytes of the content. Keeps the memory.
  void RemovePrefix(size_t count);
  void Clear() { size_ = 0; }  // Keeps the memory.
  void Free();

 private:
  [[nodiscard]] bool SetCapacity(size_t capacity);

  MemoryBudget* budget_;
  char* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace accel::rendezvous
