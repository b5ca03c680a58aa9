// Tells whether an address can be reached from this machine only.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace accel::common {

// Returns true for loopback addresses and "localhost". `host` is a numeric address without brackets
// or a name. No other name is resolved, and each counts as beyond loopback.
bool IsLoopback(const std::string& host);

// Returns OK for loopback. FAILED_PRECONDITION: other machines could reach `host`, which this
// version does not support because its traffic is not encrypted.
absl::Status CheckLoopback(const std::string& host);

}  // namespace accel::common
