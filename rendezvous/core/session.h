// One client's side of the conversation: cuts what it sends into requests and has them answered.
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

// Holds bytes only while a request is half received. Not thread-safe.
class Session {
 public:
  // The pointers outlive the session.
  Session(ConnectionId id, const WireLimits* limits, MemoryBudget* budget, StoreState* state)
      : id_(id), budget_(budget), state_(state), parser_(limits), partial_(budget) {}

  // Where to put what arrives next: `scratch`, or, behind a half request, the session's own memory,
  // which grows only with what has really arrived. ResourceExhausted: the store is full.
  absl::StatusOr<absl::Span<char>> ReadTarget(absl::Span<char> scratch);

  // Takes `bytes`, which fill the front of the last ReadTarget, and carries out every request that
  // is whole now. `reply` and `woken`: as in StoreState::Apply, whose errors come from here too.
  // InvalidArgument: not the protocol. After an error the session takes nothing more.
  absl::Status Receive(absl::string_view bytes, ByteBuffer* reply,
                       std::vector<ConnectionId>* woken);

  // Whether the client has begun a request and not ended it.
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
