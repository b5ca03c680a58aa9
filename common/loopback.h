// Tells whether an address can be reached from this machine only.
#pragma once

#include <string>

namespace accel::common {

// Returns true for loopback addresses and "localhost". `host` is a name, or a numeric address
// without brackets. Other names are not resolved, and false is returned for them.
bool IsLoopback(const std::string& host);

}  // namespace accel::common
