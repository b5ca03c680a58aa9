// Counters of a store server, for logs and metrics.
#pragma once

#include <atomic>
#include <cstdint>

namespace accel::rendezvous {

// Written by the server's thread. Any thread may read them.
struct ServerCounters {
  std::atomic<uint64_t> accepted{0};
  std::atomic<uint64_t> closed{0};              // Accepted connections that are closed.
  std::atomic<uint64_t> refused_peers{0};       // The address or the user is not allowed.
  std::atomic<uint64_t> gone_before_accept{0};  // Closed by the peer before its user was known.
  std::atomic<uint64_t> refused_over_limit{0};  // There were too many connections.
  // The bytes were not the protocol, exceeded a limit, or ended within a request.
  std::atomic<uint64_t> closed_bad_request{0};
  std::atomic<uint64_t> closed_out_of_room{0};  // The memory limit was reached.
};

}  // namespace accel::rendezvous
