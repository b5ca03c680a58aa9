// The environment that workers inherit from their node.
#pragma once

#include <string>
#include <vector>

namespace accel::agent {

// This process's own, as NAME=VALUE, without what must not travel: the token, variables that tell a
// process its rank (when the agent itself was started by a launcher), and settings of accel's own
// programs.
std::vector<std::string> BaseEnv();

}  // namespace accel::agent
