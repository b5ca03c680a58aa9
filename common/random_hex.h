// Random names.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace accel::common {

// Returns 16 random hexadecimal digits. Two such names are never equal in practice. INTERNAL: the
// kernel gave no random bytes.
absl::StatusOr<std::string> RandomHex();

}  // namespace accel::common
