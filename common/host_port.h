// HOST:PORT, [IPV6]:PORT.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace accel::common {

struct HostPort {
  std::string host;  // Without brackets.
  std::string port;  // 0 to 65535, in digits.
};

// INVALID_ARGUMENT: not of that form, with what is wrong.
absl::StatusOr<HostPort> ParseHostPort(const std::string& text);

}  // namespace accel::common
