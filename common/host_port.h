// Parses addresses of the forms HOST:PORT and [IPV6]:PORT.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace accel::common {

struct HostPort {
  std::string host;  // Without the brackets of an IPv6 address.
  std::string port;  // A number from 0 to 65535.
};

// Parses `text`. INVALID_ARGUMENT: it has another form; the message says what is wrong.
absl::StatusOr<HostPort> ParseHostPort(const std::string& text);

}  // namespace accel::common
