// The sockets on which a coordinator listens.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "common/host_port.h"
#include "common/unique_fd.h"

namespace accel::coordinator {

struct Listener {
  std::vector<common::UniqueFd>
      sockets;   // Non-blocking; one for each address of the host. Never empty.
  int port = 0;  // The same for all of them.
};

// Listens on every address of the host that this machine has; port 0 picks a port. Another program
// cannot share the port. UNAVAILABLE: the host has no address here, or the port is taken.
absl::StatusOr<Listener> ListenOn(const common::HostPort& address);

}  // namespace accel::coordinator
