// Which address and interface other nodes reach this one by.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace accel::agent {

// The numeric address that this host would use to reach host:port, without sending anything.
// UNAVAILABLE: no route; INVALID_ARGUMENT: the name does not resolve.
absl::StatusOr<std::string> SourceAddressTo(const std::string& host, const std::string& port);

// The interface whose network holds this numeric address. NOT_FOUND: none.
absl::StatusOr<std::string> InterfaceOf(const std::string& address);

}  // namespace accel::agent
