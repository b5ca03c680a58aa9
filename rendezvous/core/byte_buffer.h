// Growable bytes, charged to a budget before they are allocated.
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"
#include "rendezvous/core/memory_budget.h"

namespace accel::rendezvous {

// What cannot be charged or allocated is refused: the call returns false and the content is as it
// was. Large buffers grow without a copy and go back to the system when freed. Not thread-safe.
class ByteBuffer {
 public:
  // `budget` outlives the buffer.
  explicit ByteBuffer(MemoryBudget* budget) : budget_(budget) {}
  ByteBuffer(ByteBuffer&& other) noexcept;
  ByteBuffer& operator=(ByteBuffer&& other) noexcept;
  ~ByteBuffer() { Free(); }

  absl::string_view view() const { return absl::string_view(data_, size_); }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }

  // `bytes` must not lie in this buffer.
  [[nodiscard]] bool Append(absl::string_view bytes);

  // Replaces the content. Memory far larger than the new content needs is given back.
  [[nodiscard]] bool Assign(absl::string_view bytes);

  // Makes room for `extra` bytes behind the content, at tail(). Grows by at least a half, so that
  // many small steps cost no more than a few large ones.
  [[nodiscard]] bool Reserve(size_t extra);
  char* tail() { return data_ + size_; }
  // Takes `written` bytes at tail() into the content.
  void Extend(size_t written) { size_ += written; }

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
