// The waits of clients for keys of a store, and how clients are woken. Pure. StoreState uses it.
// store_waits.cc explains the links between waits and keys.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "rendezvous/core/key_table.h"
#include "rendezvous/core/memory_budget.h"
#include "rendezvous/core/request.h"
#include "rendezvous/core/store_entry.h"
#include "rendezvous/core/wait_list.h"

namespace accel::rendezvous {

// Not thread-safe.
class StoreWaits {
 public:
  // Both must outlive this object. `budget` is charged for each wait. The destructor does not
  // release these charges.
  StoreWaits(KeyTable* table, MemoryBudget* budget) : table_(table), budget_(budget) {}

  // Begins a wait of a connection that has none, for keys of which at least one is not ready.
  // Returns false, without a wait, if the budget has no room for it.
  [[nodiscard]] bool Begin(ConnectionId connection, EncodedStrings keys);
  // Ends the wait of a connection, if there is one, without waking the client.
  void Cancel(ConnectionId connection);

  // Count the key of the entry as ready, for all waits or until one wait is over. Append the
  // connections whose wait is over to `woken`.
  void WakeAll(StoreEntry* entry, std::vector<ConnectionId>* woken);
  void WakeOne(StoreEntry* entry, std::vector<ConnectionId>* woken);

  size_t size() const { return waits_.size(); }

 private:
  bool Satisfy(StoreEntry* entry, std::vector<ConnectionId>* woken);
  void Erase(ConnectionId connection);

  KeyTable* table_;
  MemoryBudget* budget_;
  absl::flat_hash_map<ConnectionId, std::unique_ptr<Wait>> waits_;
};

}  // namespace accel::rendezvous
