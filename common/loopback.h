// Whether an address is of this machine alone.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace accel {

// `host` without brackets. FAILED_PRECONDITION: others could reach it, which this version does not
// serve. A name counts as loopback only if it is localhost.
absl::Status CheckLoopback(const std::string& host);

}  // namespace accel
