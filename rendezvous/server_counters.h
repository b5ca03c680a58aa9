// What a store server has seen, for logs and metrics.
#pragma once

#include <atomic>
#include <cstdint>

namespace accel::rendezvous {

// Written by the server's thread, readable from any.
struct ServerCounters {
  std::atomic<uint64_t> accepted{0};
  std::atomic<uint64_t> refused_peers{0};       // The address is not allowed.
  std::atomic<uint64_t> refused_over_limit{0};  // Too many connections.
  std::atomic<uint64_t> closed_bad_request{0};  // Not the protocol, over a limit, or cut short.
  std::atomic<uint64_t> closed_out_of_room{0};  // The memory limit was reached.
};

}  // namespace accel::rendezvous
