// The address of a connection's peer, in the two forms that the gate needs.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace accel::coordinator {

struct PeerAddress {
  // The address and port, as bytes. Two connections have equal keys exactly if they have the same
  // address and port.
  std::string key;
  // The source, as bytes: an IPv4 address, or an IPv6 network of 64 bits, because a single host may
  // use all addresses of its network. Connections with equal sources share the bounds
  // of one source.
  std::string source;
};

// Converts the address that accept() returns. An IPv4 address that is mapped into IPv6 counts as
// that IPv4 address. nullopt if it is of another family.
std::optional<PeerAddress> FromSocketAddress(const sockaddr_storage& address);

// Converts the text of gRPC's ServerContext::peer(), such as "ipv4:10.0.0.1:4711" or
// "ipv6:%5B::1%5D:4711". nullopt for other texts, such as that of a Unix socket.
std::optional<PeerAddress> FromGrpcPeer(absl::string_view peer);

}  // namespace accel::coordinator
