// Everything that a store holds for one key.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "rendezvous/core/byte_buffer.h"
#include "rendezvous/core/wait_list.h"

namespace accel::rendezvous {

// A key that has a value, is a queue, or is waited for. Several of these can be true at
// the same time.
struct StoreEntry {
  using Queue = std::deque<ByteBuffer>;

  explicit StoreEntry(MemoryBudget* budget) : value(budget) {}

  // Returns true if the key exists for clients that wait for it.
  bool ready() const { return has_value || queue != nullptr; }
  bool unused() const { return !ready() && waits.empty(); }

  const std::string* key = nullptr;
  ByteBuffer value;
  bool has_value = false;
  std::unique_ptr<Queue> queue;  // Null if the queue is empty.
  WaitList waits;
};

}  // namespace accel::rendezvous
