#include "rendezvous/peer_filter.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace accel::rendezvous {
namespace {

constexpr std::array<uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

std::array<uint8_t, 16> Mapped(const in_addr& ipv4) {
  std::array<uint8_t, 16> address;
  std::memcpy(address.data(), kMappedPrefix.data(), kMappedPrefix.size());
  std::memcpy(address.data() + kMappedPrefix.size(), &ipv4, sizeof(ipv4));
  return address;
}

std::array<uint8_t, 16> Plain(const in6_addr& ipv6) {
  std::array<uint8_t, 16> address;
  std::memcpy(address.data(), &ipv6, sizeof(ipv6));
  return address;
}

}  // namespace

absl::StatusOr<PeerFilter> PeerFilter::Make(const std::vector<std::string>& addresses) {
  PeerFilter filter;
  for (const std::string& text : addresses) {
    in_addr ipv4;
    in6_addr ipv6;
    if (inet_pton(AF_INET, text.c_str(), &ipv4) == 1) {
      filter.allowed_.insert(Mapped(ipv4));
    } else if (inet_pton(AF_INET6, text.c_str(), &ipv6) == 1) {
      filter.allowed_.insert(Plain(ipv6));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("allowed peer \"", text, "\" is not a numeric IPv4 or IPv6 address"));
    }
  }
  return filter;
}

bool PeerFilter::Allows(const sockaddr_storage& peer) const {
  Address address;
  if (peer.ss_family == AF_INET) {
    address = Mapped(reinterpret_cast<const sockaddr_in&>(peer).sin_addr);
  } else if (peer.ss_family == AF_INET6) {
    address = Plain(reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr);
  } else {
    return false;
  }
  return allowed_.empty() ? IsLoopback(address) : allowed_.contains(address);
}

bool PeerFilter::IsLoopback(const Address& address) {
  if (std::memcmp(address.data(), kMappedPrefix.data(), kMappedPrefix.size()) == 0) {
    return address[kMappedPrefix.size()] == 127;
  }
  return std::memcmp(address.data(), &in6addr_loopback, address.size()) == 0;
}

}  // namespace accel::rendezvous
