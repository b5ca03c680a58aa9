// Numeric IP addresses. An IPv4 address and the same address mapped into IPv6 (::ffff:192.0.2.1)
// are equal. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace accel::common {

class IpAddress {
 public:
  // Parses a numeric address without brackets, port or scope id. Returns nullopt for
  // any other text.
  static std::optional<IpAddress> Parse(const std::string& text);

  bool is_v4() const;
  bool is_loopback() const;   // 127.0.0.0/8 or ::1.
  bool is_wildcard() const;   // 0.0.0.0 or ::.
  bool is_multicast() const;  // 224.0.0.0/4 or ff00::/8.
  // True for fe80::/10. Such an address can be used only with a scope id.
  bool is_v6_link_local() const;

  // Returns the usual text, without brackets. A mapped address has the text of its IPv4 address.
  std::string text() const;

  // Returns true if the first `bits` bits of both addresses are equal. `bits` is 0 to 32 for IPv4,
  // and 0 to 128 for IPv6. Addresses of different families are never in the same network.
  bool IsInNetwork(const IpAddress& network, int bits) const;

  // Returns true if this address is numerically lower than `other`.
  bool IsBefore(const IpAddress& other) const { return bytes_ < other.bytes_; }

  bool operator==(const IpAddress&) const = default;

 private:
  std::array<uint8_t, 16> bytes_ = {};
};

// Returns HOST:PORT, with brackets around an IPv6 address.
std::string JoinHostPort(const std::string& host, const std::string& port);

}  // namespace accel::common
