// The environment that workers inherit from their node.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "process/account.h"

namespace accel::agent {

// Returns this process's environment as NAME=VALUE, without variables that workers must not get:
// keys, the variables that give a process its rank (if a launcher started the agent), and
// settings of accel's programs.
std::vector<std::string> BaseEnv();

// Returns what a job of another user inherits: what a log-in sets (PATH, HOME, USER, LOGNAME,
// SHELL), LANG and TZ of this process, and its variables with the names in `pass`. This process's
// own environment may have secrets and paths of root, so nothing else is passed on.
std::vector<std::string> UserBaseEnv(const process::Account& user,
                                     const std::set<std::string>& pass);

}  // namespace accel::agent
