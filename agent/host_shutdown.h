// Finds out whether the whole host is shutting down. An agent that is asked to stop uses it,
// because it may also be stopped alone, for example for an upgrade.
#pragma once

#include <string>

#include "absl/time/time.h"

namespace accel::agent {

// The paths and the time limit of the question. Tests set other values.
struct SystemdPaths {
  std::string running = "/run/systemd/system";  // Exists if systemd runs this host.
  std::string systemctl = "/usr/bin/systemctl";
  absl::Duration longest = absl::Seconds(1);  // Time limit for its answer.
};

// Returns true if `systemctl is-system-running` prints "stopping". systemd enters this state when a
// shutdown begins, before any unit gets SIGTERM. Returns false if there is no systemd, or if it
// does not answer in time. Blocks for at most `longest`.
bool HostIsShuttingDown(const SystemdPaths& paths = {});

}  // namespace accel::agent
