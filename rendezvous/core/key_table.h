// The table of a store: an entry for each key that has a value, is a queue or is waited for. Pure.
// StoreState keeps values and queues in the entries, and StoreWaits the waits.
#pragma once

#include <string>

#include "absl/container/node_hash_map.h"
#include "absl/strings/string_view.h"
#include "rendezvous/core/memory_budget.h"
#include "rendezvous/core/request.h"
#include "rendezvous/core/store_entry.h"

namespace accel::rendezvous {

// Not thread-safe. An entry never moves, so others may link it by its address until it is erased.
class KeyTable {
 public:
  using Map = absl::node_hash_map<std::string, StoreEntry>;

  // `budget` must outlive the table. It is charged for each entry and its key. The destructor
  // does not release these charges.
  explicit KeyTable(MemoryBudget* budget) : budget_(budget) {}

  // Returns null if the key has no entry.
  StoreEntry* Find(absl::string_view key);
  const StoreEntry* Find(absl::string_view key) const;
  // Makes an unused entry if the key has none. Returns null if the budget has no room for it.
  StoreEntry* FindOrInsert(absl::string_view key);
  // Erases the entry if it has no value, no queue and no waiting client.
  void EraseIfUnused(StoreEntry* entry);

  // Returns true if the keys exist for clients that wait for them.
  bool Ready(absl::string_view key) const;
  bool AllReady(EncodedStrings keys) const;

  Map::const_iterator begin() const { return entries_.begin(); }
  Map::const_iterator end() const { return entries_.end(); }

 private:
  MemoryBudget* budget_;
  Map entries_;
};

}  // namespace accel::rendezvous
