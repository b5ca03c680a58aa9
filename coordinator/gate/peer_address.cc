#include "coordinator/gate/peer_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdint>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace accel::coordinator {
namespace {

constexpr size_t kNetworkBytes = 8;  // 64 bits.

PeerAddress Make(const in6_addr& address, uint16_t port) {
  const std::string bytes(reinterpret_cast<const char*>(address.s6_addr), sizeof(address.s6_addr));
  PeerAddress peer;
  peer.key = bytes + static_cast<char>(port >> 8) + static_cast<char>(port & 0xff);
  peer.source = IN6_IS_ADDR_V4MAPPED(&address) ? bytes : bytes.substr(0, kNetworkBytes);
  return peer;
}

in6_addr Mapped(const in_addr& address) {
  in6_addr mapped{};
  mapped.s6_addr[10] = mapped.s6_addr[11] = 0xff;
  std::memcpy(&mapped.s6_addr[12], &address, sizeof(address));
  return mapped;
}

std::optional<in6_addr> ParseHost(std::string host, bool v6) {
  in_addr v4{};
  in6_addr parsed{};
  if (!v6) {
    if (inet_pton(AF_INET, host.c_str(), &v4) != 1) return std::nullopt;
    return Mapped(v4);
  }
  if (host.size() < 2 || host.front() != '[' || host.back() != ']') return std::nullopt;
  host = host.substr(1, host.size() - 2);
  host = host.substr(0, host.find('%'));  // Without the interface of a link-local address.
  if (inet_pton(AF_INET6, host.c_str(), &parsed) != 1) return std::nullopt;
  return parsed;
}

}  // namespace

std::optional<PeerAddress> FromSocketAddress(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address);
    return Make(Mapped(v4->sin_addr), ntohs(v4->sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address);
    return Make(v6->sin6_addr, ntohs(v6->sin6_port));
  }
  return std::nullopt;
}

std::optional<PeerAddress> FromGrpcPeer(absl::string_view peer) {
  const bool v6 = absl::ConsumePrefix(&peer, "ipv6:");
  if (!v6 && !absl::ConsumePrefix(&peer, "ipv4:")) return std::nullopt;
  const std::string text = absl::StrReplaceAll(peer, {{"%5B", "["}, {"%5D", "]"}});
  const size_t colon = text.rfind(':');
  uint32_t port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(text.substr(colon + 1), &port) ||
      port > 65'535) {
    return std::nullopt;
  }
  const std::optional<in6_addr> host = ParseHost(text.substr(0, colon), v6);
  if (!host.has_value()) return std::nullopt;
  return Make(*host, static_cast<uint16_t>(port));
}

}  // namespace accel::coordinator
