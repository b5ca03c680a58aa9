// The content of a TCPStore, and its answers to requests. Pure: no socket, no thread, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rendezvous/core/byte_buffer.h"
#include "rendezvous/core/key_table.h"
#include "rendezvous/core/memory_budget.h"
#include "rendezvous/core/request.h"
#include "rendezvous/core/store_waits.h"
#include "rendezvous/core/wait_list.h"

namespace accel::rendezvous {

// Not thread-safe. The state answers as PyTorch 2.11's own server does, except for two answers, in
// which that server misleads waiting clients (docs/decisions/0005). A compare_set that stores
// nothing wakes no client. A wait for several keys counts queue elements that were pushed before it
// began. There are no timeouts here, because a client measures its own and cancels its wait.
class StoreState {
 public:
  // Makes an empty state. `budget` must outlive it. Only the state may charge the budget for keys
  // and waits. The destructor does not release those charges.
  explicit StoreState(MemoryBudget* budget)
      : budget_(budget), table_(budget), waits_(&table_, budget) {}
  StoreState(const StoreState&) = delete;
  StoreState& operator=(const StoreState&) = delete;

  // Performs one request of a connection, of any type except kValidate and kPing, which concern no
  // key. Appends the answer to `reply`, unless the request has none or is a wait that is not over
  // yet. Appends to `woken` the connections whose wait is over, which may include `connection`. The
  // caller must send WaitResponse::kStopWaiting to each of them, even if this call fails.
  //
  // After an error, `reply` may end with an incomplete answer, and the connection must be closed.
  // ResourceExhausted: the store is full. InvalidArgument: the request adds to a value that is
  // not a number.
  absl::Status Apply(ConnectionId connection, const Request& request, ByteBuffer* reply,
                     std::vector<ConnectionId>* woken);

  // Cancels the wait of a connection, if there is one.
  void Disconnect(ConnectionId connection) { waits_.Cancel(connection); }

  // Returns the number of keys, for tests that look for leaks.
  size_t num_keys() const { return num_keys_; }
  // Returns the number of waits, for tests that look for leaks.
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

  MemoryBudget* budget_;
  KeyTable table_;
  size_t num_keys_ = 0;  // Number of entries with a value.
  StoreWaits waits_;
};

}  // namespace accel::rendezvous
