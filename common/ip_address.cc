#include "common/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace accel::common {
namespace {

constexpr std::array<uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr int kMappedBits = 96;

}  // namespace

std::optional<IpAddress> IpAddress::Parse(const std::string& text) {
  IpAddress address;
  if (inet_pton(AF_INET, text.c_str(), address.bytes_.data() + kMappedPrefix.size()) == 1) {
    std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), address.bytes_.begin());
    return address;
  }
  if (inet_pton(AF_INET6, text.c_str(), address.bytes_.data()) == 1) return address;
  return std::nullopt;
}

bool IpAddress::is_v4() const {
  return std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), bytes_.begin());
}

bool IpAddress::is_loopback() const {
  if (is_v4()) return bytes_[12] == 127;
  return std::memcmp(bytes_.data(), &in6addr_loopback, bytes_.size()) == 0;
}

bool IpAddress::is_wildcard() const {
  return std::all_of(bytes_.begin() + (is_v4() ? 12 : 0), bytes_.end(),
                     [](uint8_t byte) { return byte == 0; });
}

bool IpAddress::is_multicast() const {
  return is_v4() ? (bytes_[12] & 0xf0) == 0xe0 : bytes_[0] == 0xff;
}

bool IpAddress::is_v6_link_local() const { return bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0x80; }

std::string IpAddress::text() const {
  char text[INET6_ADDRSTRLEN] = {};
  if (is_v4()) {
    inet_ntop(AF_INET, bytes_.data() + kMappedPrefix.size(), text, sizeof(text));
  } else {
    inet_ntop(AF_INET6, bytes_.data(), text, sizeof(text));
  }
  return text;
}

bool IpAddress::IsInNetwork(const IpAddress& network, int bits) const {
  if (is_v4() != network.is_v4()) return false;
  if (is_v4()) bits += kMappedBits;
  for (int i = 0; i < bits; ++i) {
    const int mask = 0x80 >> (i % 8);
    if (((bytes_[i / 8] ^ network.bytes_[i / 8]) & mask) != 0) return false;
  }
  return true;
}

std::string JoinHostPort(const std::string& host, const std::string& port) {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + port;
}

}  // namespace accel::common
