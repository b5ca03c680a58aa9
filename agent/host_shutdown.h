// Tells a host that is shutting down from an agent that is stopped for an upgrade.
#pragma once

#include <string>

#include "absl/time/time.h"

namespace accel::agent {

// Where to look. Tests set other paths.
struct SystemdPaths {
  std::string running = "/run/systemd/system";  // Exists if systemd runs this host.
  std::string systemctl = "/usr/bin/systemctl";
  absl::Duration longest = absl::Seconds(1);  // Time for its answer.
};

// Returns true if systemd says that it is stopping the host (`systemctl is-system-running`). It
// says so from the moment at which a shutdown begins, before any unit gets SIGTERM. Returns false
// in any doubt: without systemd, or if it does not answer in time. Blocks for `longest` at most.
bool HostIsShuttingDown(const SystemdPaths& paths = {});

}  // namespace accel::agent
