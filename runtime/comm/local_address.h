// The address under which other machines can reach this one.
#pragma once

#include <string>

namespace accel::runtime {

// Returns the numeric address of this machine from which packets to `host` would leave. Sends
// nothing, except to resolve the name. Throws std::runtime_error if `host` does not resolve, or if
// there is no route to it.
std::string local_address_towards(const std::string& host);

}  // namespace accel::runtime
