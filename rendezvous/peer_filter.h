// The addresses that may connect to a store (invariant 10).
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"

namespace accel::rendezvous {

// Immutable, and therefore thread-safe. An IPv4 address equals the same address mapped into IPv6.
class PeerFilter {
 public:
  // Makes a filter for numeric IPv4 or IPv6 addresses. If `addresses` is empty, the filter allows
  // all loopback addresses and no others. InvalidArgument: an address is not numeric.
  static absl::StatusOr<PeerFilter> Make(const std::vector<std::string>& addresses);

  // Returns true if a peer with this address may connect, from any port.
  bool Allows(const sockaddr_storage& peer) const;

 private:
  // An IPv6 address, or an IPv4 address mapped into IPv6.
  using Address = std::array<uint8_t, 16>;

  PeerFilter() = default;
  static bool IsLoopback(const Address& address);

  absl::flat_hash_set<Address> allowed_;
};

}  // namespace accel::rendezvous
