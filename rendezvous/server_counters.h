// Counters of a store server, for logs and metrics.
#pragma once

#include <atomic>
#include <cstdint>

namespace accel::rendezvous {

// The server's thread writes the counters. Any thread may read them.
struct ServerCounters {
  std::atomic<uint64_t> accepted{0};
  std::atomic<uint64_t> closed{0};              // Accepted connections that are closed.
  std::atomic<uint64_t> refused_peers{0};       // The address or the user was not allowed.
  std::atomic<uint64_t> gone_before_accept{0};  // The user of the peer is not known: kGone.
  std::atomic<uint64_t> refused_over_limit{0};  // Too many connections, or epoll had no room.
  // Closed because of its bytes. They were not the protocol, exceeded a limit, ended within a
  // request, or asked to add to a value that is not a number.
  std::atomic<uint64_t> closed_bad_request{0};
  std::atomic<uint64_t> closed_out_of_room{0};  // The memory limit was reached.
};

}  // namespace accel::rendezvous
