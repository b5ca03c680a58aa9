// The command line of accel-agent.
#pragma once

#include <optional>

#include "agent/daemon.h"

namespace accel::agent {

// Parses the command line into `options` and returns nullopt. If it prints help, the version or an
// error instead, it returns the exit code: 0, or 2 for a bad command line.
std::optional<int> ParseAgentFlags(int argc, char** argv, AgentDaemonOptions* options);

}  // namespace accel::agent
