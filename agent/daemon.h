// The whole agent: from its options to a process that runs for months.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace accel::agent {

struct AgentDaemonOptions {
  std::string coordinator;  // HOST:PORT
  std::string state_dir;
  std::string name;        // Empty: the host's.
  std::string advertise;   // Empty: the source address of the route to the coordinator.
  std::string token_file;  // See common/token.h.
  std::string shim;        // See agent/find_shim.h.
  int store_sockets = 4;   // Spare ones that listen.
  // How long jobs that a dead agent has left on this node may take to end before they are killed.
  absl::Duration leftover_grace = absl::Seconds(40);
};

// Runs until `stop_fd` is readable (OK, with every job of this node ended) or the agent cannot go
// on. INVALID_ARGUMENT: an option, by name; FAILED_PRECONDITION: another agent uses the state
// directory;
// UNAUTHENTICATED: the coordinator refuses the token; ALREADY_EXISTS: another agent has taken this
// node over.
absl::Status RunAgentDaemon(const AgentDaemonOptions& options, int stop_fd);

}  // namespace accel::agent
