#pragma once

#include <string>

namespace accel {

// The numeric address of this machine from which packets to `host` would leave; nothing is sent.
// Throws std::runtime_error if `host` does not resolve or cannot be reached.
std::string local_address_towards(const std::string& host);

}  // namespace accel
