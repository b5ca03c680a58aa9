// The waits of connections for keys. Waits are linked both by key and by connection, so waking and
// cancelling cost only as much as the affected waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace accel::rendezvous {

using ConnectionId = uint32_t;

struct StoreEntry;
struct Wait;

// One key that one connection waits for.
struct WaitNode {
  Wait* wait = nullptr;
  // The entry whose list contains this node. Null once the key of the entry has been ready.
  StoreEntry* entry = nullptr;
  WaitNode* previous = nullptr;
  WaitNode* next = nullptr;
};

// One wait of a connection. It is over when each of its keys has been ready once.
struct Wait {
  ConnectionId connection = 0;
  size_t keys_left = 0;
  std::vector<WaitNode> nodes;  // Never resized once linked, because nodes are linked by address.
};

// The waits for one key, oldest first. Owns nothing.
class WaitList {
 public:
  bool empty() const { return first_ == nullptr; }
  WaitNode* first() const { return first_; }

  void PushBack(WaitNode* node) {
    node->previous = last_;
    node->next = nullptr;
    (last_ != nullptr ? last_->next : first_) = node;
    last_ = node;
  }
  void Remove(WaitNode* node) {
    (node->previous != nullptr ? node->previous->next : first_) = node->next;
    (node->next != nullptr ? node->next->previous : last_) = node->previous;
    node->entry = nullptr;
  }

 private:
  WaitNode* first_ = nullptr;
  WaitNode* last_ = nullptr;
};

}  // namespace accel::rendezvous
