#include "rendezvous/core/key_table.h"

#include <cstddef>

namespace accel::rendezvous {
namespace {

// Estimated memory for a slot of the hash table, a node and malloc's own data.
constexpr size_t kEntryOverhead = 192;

}  // namespace

StoreEntry* KeyTable::Find(absl::string_view key) {
  const auto it = entries_.find(key);
  return it == entries_.end() ? nullptr : &it->second;
}

const StoreEntry* KeyTable::Find(absl::string_view key) const {
  const auto it = entries_.find(key);
  return it == entries_.end() ? nullptr : &it->second;
}

StoreEntry* KeyTable::FindOrInsert(absl::string_view key) {
  if (StoreEntry* found = Find(key)) return found;
  if (!budget_->TryCharge(key.size() + kEntryOverhead)) return nullptr;
  const auto it = entries_.try_emplace(std::string(key), budget_).first;
  it->second.key = &it->first;
  return &it->second;
}

void KeyTable::EraseIfUnused(StoreEntry* entry) {
  if (!entry->unused()) return;
  budget_->Release(entry->key->size() + kEntryOverhead);
  entries_.erase(entries_.find(*entry->key));
}

bool KeyTable::Ready(absl::string_view key) const {
  const StoreEntry* entry = Find(key);
  return entry != nullptr && entry->ready();
}

bool KeyTable::AllReady(EncodedStrings keys) const {
  while (!keys.done()) {
    if (!Ready(keys.Next())) return false;
  }
  return true;
}

}  // namespace accel::rendezvous
