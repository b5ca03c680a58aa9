// Finds the address and interface by which other nodes reach this one.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/core/advertise.h"

namespace accel::agent {

// Returns the numeric address that this host would use to reach host:port. Sends nothing.
// UNAVAILABLE: there is no route, or no name server answers. INVALID_ARGUMENT: the name does not
// resolve.
absl::StatusOr<std::string> SourceAddressTo(const std::string& host, const std::string& port);

// Returns the addresses of the interfaces that are up, in the kernel's order. INTERNAL: the kernel
// does not list them.
absl::StatusOr<std::vector<InterfaceAddress>> OwnAddresses();

// Returns the interface whose network contains this numeric address. NOT_FOUND: there is none.
absl::StatusOr<std::string> InterfaceOf(const std::string& address);

}  // namespace accel::agent
