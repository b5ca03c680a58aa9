// Finds the address and interface by which other nodes reach this one.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/core/advertise.h"

namespace accel::agent {

// Returns the numeric address from which this host would connect to host:port. Sends nothing to
// it. UNAVAILABLE: there is no route, or no name server answers. INVALID_ARGUMENT: the name
// does not resolve.
absl::StatusOr<std::string> SourceAddressTo(const std::string& host, const std::string& port);

// Returns the addresses of the interfaces that are up, in the kernel's order. INTERNAL: the kernel
// does not list them.
absl::StatusOr<std::vector<InterfaceAddress>> OwnAddresses();

// Returns the interface that has this numeric address. For another address in 127.0.0.0/8, returns
// the loopback interface. NOT_FOUND: there is no such interface.
absl::StatusOr<std::string> InterfaceOf(const std::string& address);

}  // namespace accel::agent
