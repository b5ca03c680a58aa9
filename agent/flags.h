// The command line of accel-agent.
#pragma once

#include <optional>

#include "agent/daemon.h"

namespace accel::agent {

// Prints help, version or a complaint, and then returns the exit code instead: 0, or 2 for a bad
// command line.
std::optional<int> ParseAgentFlags(int argc, char** argv, AgentDaemonOptions* options);

}  // namespace accel::agent
