// The server's side of one client connection. It splits the received bytes into requests
// and answers them.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "rendezvous/core/byte_buffer.h"
#include "rendezvous/core/request_parser.h"
#include "rendezvous/core/store_state.h"

namespace accel::rendezvous {

// Not thread-safe. Holds bytes only while a request is incomplete.
class Session {
 public:
  // The pointers must outlive the session.
  Session(ConnectionId id, const WireLimits* limits, MemoryBudget* budget, StoreState* state)
      : id_(id), budget_(budget), state_(state), parser_(limits), partial_(budget) {}

  // Returns where the caller must store the next received bytes. This is `scratch`, or the
  // session's own memory if a request is incomplete. That memory grows only in proportion to the
  // bytes received. ResourceExhausted: the store is full.
  absl::StatusOr<absl::Span<char>> ReadTarget(absl::Span<char> scratch);

  // Takes `bytes`, which must be at the start of the last ReadTarget(), and performs all complete
  // requests. `reply` and `woken` are those of StoreState::Apply(). After an error, Receive() must
  // not be called again. InvalidArgument: the bytes are not the protocol. ResourceExhausted: the
  // store is full. Other errors are those of StoreState::Apply().
  absl::Status Receive(absl::string_view bytes, ByteBuffer* reply,
                       std::vector<ConnectionId>* woken);

  // Returns true if the client has sent a part of a request.
  bool mid_request() const { return !partial_.empty(); }

 private:
  absl::StatusOr<size_t> ProcessWhole(absl::string_view bytes, ByteBuffer* reply,
                                      std::vector<ConnectionId>* woken);
  absl::Status Handle(const Request& request, ByteBuffer* reply, std::vector<ConnectionId>* woken);

  const ConnectionId id_;
  MemoryBudget* const budget_;
  StoreState* const state_;
  bool validated_ = false;
  RequestParser parser_;
  ByteBuffer partial_;
};

}  // namespace accel::rendezvous
