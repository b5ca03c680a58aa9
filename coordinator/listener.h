// The sockets on which a coordinator listens.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "common/host_port.h"
#include "common/unique_fd.h"

namespace accel::coordinator {

struct Listener {
  // One non-blocking socket for each address of the host. Never empty.
  std::vector<common::UniqueFd> sockets;
  int port = 0;  // The port of all sockets.
};

// Listens on every address of `address.host` that this machine has. Port 0 picks a free port.
// Another program cannot share the port. UNAVAILABLE: the host is unknown, this machine has none of
// its addresses, or listening on an address fails, for example because the port is in use.
absl::StatusOr<Listener> ListenOn(const common::HostPort& address);

}  // namespace accel::coordinator
