// Tells whether an address can be reached from this machine only.
#pragma once

#include <string>

namespace accel::common {

// Returns true for loopback addresses and "localhost". `host` is a numeric address without brackets
// or a name. No other name is resolved, and each counts as beyond loopback.
bool IsLoopback(const std::string& host);

}  // namespace accel::common
