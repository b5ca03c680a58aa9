// The environment that workers inherit from their node.
#pragma once

#include <string>
#include <vector>

namespace accel::agent {

// Returns this process's environment as NAME=VALUE, without variables that workers must not get:
// the token, the variables that give a process its rank (if a launcher started the agent), and
// settings of accel's programs.
std::vector<std::string> BaseEnv();

}  // namespace accel::agent
