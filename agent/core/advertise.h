// Chooses the address by which other nodes reach this one. Pure: the addresses of the host come in
// as values.
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

// Maximum number of addresses in a report. Those of the advertised address come first.
inline constexpr size_t kMaxReportedAddresses = 64;

// Returns the numeric address that `wish` selects from `own`. `wish` is a numeric address of this
// host, an interface, of which the first IPv4 address is taken and else the first IPv6 address, or
// a network ADDRESS/BITS, of which the first address is taken. `coordinator_is_here` is true if
// other hosts cannot belong to the cluster. NOT_FOUND: this host has no such address; the message
// lists what it has. INVALID_ARGUMENT: other hosts cannot connect to the address.
absl::StatusOr<std::string> ChooseAddress(const std::string& wish,
                                          const std::vector<InterfaceAddress>& own,
                                          bool coordinator_is_here);

// Returns the address of a host that listens on all its addresses: the first IPv4 address that is
// not loopback, else the first such IPv6 address. NOT_FOUND: the host has no such address.
absl::StatusOr<std::string> FirstReachable(const std::vector<InterfaceAddress>& own);

// Returns the addresses that other nodes may see as the source of this node's connections, at most
// kMaxReportedAddresses, with `advertised` first.
std::vector<std::string> AddressesToReport(const std::string& advertised,
                                           const std::vector<InterfaceAddress>& own);

}  // namespace accel::agent
