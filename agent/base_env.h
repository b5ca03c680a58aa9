// The environment that workers inherit from their node.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "process/account.h"

namespace accel::agent {

// Returns this process's environment as NAME=VALUE, for workers. Keys, settings of accel's programs
// and variables by which a launcher gives a process its rank are left out.
std::vector<std::string> BaseEnv();

// Returns the environment of a job of another user. It has the variables of a log-in (PATH, HOME,
// USER, LOGNAME, SHELL). From this process it has LANG, TZ and the variables named in `pass`.
// Nothing else is passed on, because the environment of root may have secrets and private paths.
std::vector<std::string> UserBaseEnv(const process::Account& user,
                                     const std::set<std::string>& pass);

}  // namespace accel::agent
