// Chooses the address by which other nodes reach this one. Pure: the caller passes the addresses
// of the host.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace accel::agent {

// One address of a network interface that is up.
struct InterfaceAddress {
  std::string interface;
  std::string address;  // Numeric, without a scope id.
};

// Maximum number of addresses in a report.
inline constexpr size_t kMaxReportedAddresses = 64;

// Returns the numeric address that `wish` selects from `own`. `wish` has one of three forms:
// - A numeric address of this host.
// - An interface. Its first IPv4 address is selected, or else its first IPv6 address.
// - A network ADDRESS/BITS. The first address in it is selected.
// `coordinator_is_here` is true if other hosts cannot belong to the cluster; only then may the
// address be loopback. NOT_FOUND: this host has no such address; the message lists those that it
// has. INVALID_ARGUMENT: other hosts cannot connect to the address, or the network is malformed.
absl::StatusOr<std::string> ChooseAddress(const std::string& wish,
                                          const std::vector<InterfaceAddress>& own,
                                          bool coordinator_is_here);

// Returns the address to announce for a server that listens on all addresses of this host. It is
// the first IPv4 address that is not loopback, or else the first such IPv6 address. NOT_FOUND: the
// host has no such address.
absl::StatusOr<std::string> FirstReachable(const std::vector<InterfaceAddress>& own);

// Returns the addresses that other nodes may see as the source of this node's connections, at most
// kMaxReportedAddresses, with `advertised` first.
std::vector<std::string> AddressesToReport(const std::string& advertised,
                                           const std::vector<InterfaceAddress>& own);

}  // namespace accel::agent
