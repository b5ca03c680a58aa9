// What a TCPStore holds and how it answers; no socket, no thread, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rendezvous/core/byte_buffer.h"
#include "rendezvous/core/memory_budget.h"
#include "rendezvous/core/request.h"
#include "rendezvous/core/store_entry.h"
#include "rendezvous/core/wait_list.h"

namespace accel::rendezvous {

// Answers as PyTorch 2.11's own server does, time-outs included: those are the client's, which
// cancels its wait. Two differences (docs/decisions/0005), both where that server misleads a
// waiter: a compare_set that stores nothing wakes nobody, and a wait for several keys takes notice
// of a queue's elements that were there before it began.
//
// Not thread-safe.
class StoreState {
 public:
  // `budget` outlives the state, which is the only one to charge it for keys and waits and does not
  // give that back when destroyed.
  explicit StoreState(MemoryBudget* budget) : budget_(budget) {}
  StoreState(const StoreState&) = delete;
  StoreState& operator=(const StoreState&) = delete;

  // Carries out one request (any but kValidate and kPing, which concern no key) of a connection.
  // Appends the answer to `reply`, unless the request has none or is a wait that is not over yet.
  // Appends to `woken` the connections, perhaps this one, whose wait is over: to each one
  // WaitResponse::kStopWaiting is due, also if this call fails.
  //
  // On an error `reply` may end in half an answer; the connection is to be closed.
  // ResourceExhausted: the store is full. InvalidArgument: add to a value that is no number.
  absl::Status Apply(ConnectionId connection, const Request& request, ByteBuffer* reply,
                     std::vector<ConnectionId>* woken);

  // Forgets what the connection waits for.
  void Disconnect(ConnectionId connection) { CancelWait(connection); }

  size_t num_keys() const { return num_keys_; }
  size_t num_waits() const { return waits_.size(); }

 private:
  absl::Status Set(absl::string_view key, absl::string_view value,
                   std::vector<ConnectionId>* woken);
  absl::Status MultiSet(EncodedStrings pairs, std::vector<ConnectionId>* woken);
  absl::Status Append(absl::string_view key, absl::string_view value,
                      std::vector<ConnectionId>* woken);
  absl::Status CompareSet(const Request& request, ByteBuffer* reply,
                          std::vector<ConnectionId>* woken);
  absl::Status Add(absl::string_view key, int64_t delta, ByteBuffer* reply,
                   std::vector<ConnectionId>* woken);
  absl::Status Get(absl::string_view key, ByteBuffer* reply) const;
  absl::Status MultiGet(EncodedStrings keys, ByteBuffer* reply) const;
  absl::Status ListKeys(ByteBuffer* reply) const;
  int64_t DeleteKey(absl::string_view key);
  absl::Status QueuePush(absl::string_view key, absl::string_view value,
                         std::vector<ConnectionId>* woken);
  absl::Status QueuePop(absl::string_view key, ByteBuffer* reply);
  int64_t QueueLength(absl::string_view key) const;

  bool AllReady(EncodedStrings keys) const;
  bool Ready(absl::string_view key) const;
  absl::Status BeginWait(ConnectionId connection, EncodedStrings keys);
  void CancelWait(ConnectionId connection);
  void WakeAll(StoreEntry* entry, std::vector<ConnectionId>* woken);
  void WakeOne(StoreEntry* entry, std::vector<ConnectionId>* woken);
  bool Satisfy(StoreEntry* entry, std::vector<ConnectionId>* woken);
  void EraseWait(ConnectionId connection);

  StoreEntry* FindOrInsert(absl::string_view key);
  void EraseIfUnused(StoreEntry* entry);

  MemoryBudget* budget_;
  absl::node_hash_map<std::string, StoreEntry> entries_;
  size_t num_keys_ = 0;  // Entries with a value.
  absl::flat_hash_map<ConnectionId, std::unique_ptr<Wait>> waits_;
};

}  // namespace accel::rendezvous
