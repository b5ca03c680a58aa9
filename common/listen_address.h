// HOST:PORT, as daemons listen on it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace accel {

struct ListenAddress {
  std::string host;  // Without the brackets of an IPv6 address.
  int port = 0;      // 0: any.

  std::string ToString() const;
};

// INVALID_ARGUMENT: not HOST:PORT. FAILED_PRECONDITION: a host beyond loopback, which this version
// does not serve.
absl::StatusOr<ListenAddress> ParseLoopbackAddress(absl::string_view text);

}  // namespace accel
