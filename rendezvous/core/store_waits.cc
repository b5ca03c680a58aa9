// How clients that wait for keys are woken.
//
// The problem: ranks meet by waiting for keys that other ranks set. In a barrier of a thousand
// ranks, each rank does an `add` to a counter. Then it waits for a key, which the last rank sets.
// The obvious approach keeps a list of waiting clients. After each change it checks the keys of all
// of them. Each of the thousand `add`s is a change and causes a check of all ranks that already
// wait. The cost is quadratic in the number of ranks.
//
// The approach: a wait is linked to exactly the keys that are missing. It has one node for each of
// these keys, and the entry of the key has a list of its nodes. When a key becomes ready, its nodes
// are unlinked and the waits of these nodes count down. A wait that reaches zero is over. Setting a
// key therefore costs only the waits for that key, and cancelling a wait only its keys.
//
// clang-format off
//   KeyTable                                   waits_
//   "a"  value "1"
//   "b"  waits ──▶ node ──────▶ node           connection 1: {b}     keys_left 1
//                   │            │             connection 2: {b, c}  keys_left 2
//              connection 1  connection 2
//   "c"  waits ──▶ node
//                   │
//              connection 2
//
//   set b     connection 1 is woken; connection 2 has keys_left 1
//   delete b  changes nothing for connection 2: a key counts once it has been ready
//   set c     connection 2 is woken
// clang-format on
//
// Waits and their nodes are charged to the budget (invariant 8). A node and its entry are linked by
// address, so neither moves: a wait never resizes its nodes, and KeyTable moves no entry.

#include "rendezvous/core/store_waits.h"

#include "absl/strings/string_view.h"

namespace accel::rendezvous {
namespace {

// Estimated memory for a slot of the hash table, a wait and malloc's own data.
constexpr size_t kWaitOverhead = 160;
constexpr size_t kWaitNodeOverhead = sizeof(WaitNode);

}  // namespace

bool StoreWaits::Begin(ConnectionId connection, EncodedStrings keys) {
  size_t missing = 0;
  for (EncodedStrings each = keys; !each.done();) missing += !table_->Ready(each.Next());
  if (!budget_->TryCharge(kWaitOverhead + missing * kWaitNodeOverhead)) return false;
  std::unique_ptr<Wait>& wait = waits_[connection];
  wait = std::make_unique<Wait>();
  wait->connection = connection;
  wait->nodes.resize(missing);
  for (WaitNode* node = wait->nodes.data(); !keys.done();) {
    const absl::string_view key = keys.Next();
    if (table_->Ready(key)) continue;
    StoreEntry* entry = table_->FindOrInsert(key);
    if (entry == nullptr) {
      Cancel(connection);
      return false;
    }
    node->wait = wait.get();
    node->entry = entry;
    entry->waits.PushBack(node++);
    ++wait->keys_left;
  }
  return true;
}

void StoreWaits::Cancel(ConnectionId connection) {
  const auto it = waits_.find(connection);
  if (it == waits_.end()) return;
  for (WaitNode& node : it->second->nodes) {
    StoreEntry* entry = node.entry;
    if (entry == nullptr) continue;
    entry->waits.Remove(&node);
    table_->EraseIfUnused(entry);
  }
  Erase(connection);
}

void StoreWaits::WakeAll(StoreEntry* entry, std::vector<ConnectionId>* woken) {
  while (!entry->waits.empty()) Satisfy(entry, woken);
}

void StoreWaits::WakeOne(StoreEntry* entry, std::vector<ConnectionId>* woken) {
  while (!entry->waits.empty()) {
    if (Satisfy(entry, woken)) return;
  }
}

// Removes the first wait from the list of the entry, whose key is ready. Returns true if the wait
// needed no other key and is therefore over.
bool StoreWaits::Satisfy(StoreEntry* entry, std::vector<ConnectionId>* woken) {
  WaitNode* node = entry->waits.first();
  Wait* wait = node->wait;
  entry->waits.Remove(node);
  if (--wait->keys_left > 0) return false;
  woken->push_back(wait->connection);
  Erase(wait->connection);
  return true;
}

void StoreWaits::Erase(ConnectionId connection) {
  const auto it = waits_.find(connection);
  budget_->Release(kWaitOverhead + it->second->nodes.size() * kWaitNodeOverhead);
  waits_.erase(it);
}

}  // namespace accel::rendezvous
