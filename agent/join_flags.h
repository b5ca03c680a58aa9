// The command line of `accel-agent join`.
#pragma once

#include <optional>

#include "agent/join.h"

namespace accel::agent {

// Parses the words after "accel-agent" into `options` and returns nullopt. If it prints help or an
// error instead, it returns the exit code: 0, or 2 for a bad command line.
std::optional<int> ParseJoinFlags(int argc, char** argv, JoinOptions* options);

}  // namespace accel::agent
