// Which addresses may speak to a store.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"

namespace accel::rendezvous {

// Immutable. An IPv4 address and the same one mapped into IPv6 are one.
class PeerFilter {
 public:
  // `addresses`: numeric, IPv4 or IPv6. None: every loopback address, nothing else.
  // InvalidArgument: one of them is not numeric.
  static absl::StatusOr<PeerFilter> Make(const std::vector<std::string>& addresses);

  bool Allows(const sockaddr_storage& peer) const;

 private:
  using Address = std::array<uint8_t, 16>;  // IPv6, or IPv4 mapped into it.

  PeerFilter() = default;
  static bool IsLoopback(const Address& address);

  absl::flat_hash_set<Address> allowed_;
};

}  // namespace accel::rendezvous
