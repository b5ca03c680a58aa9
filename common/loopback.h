// Whether an address is of this machine alone.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace accel::common {

// `host` is a numeric address, without brackets, or a name; of names only localhost counts.
bool IsLoopback(const std::string& host);

// As a refusal for people. FAILED_PRECONDITION: others could reach it, which this version does not
// serve.
absl::Status CheckLoopback(const std::string& host);

}  // namespace accel::common
