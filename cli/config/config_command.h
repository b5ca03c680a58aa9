// `accel config`: makes, explains and checks configuration files.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace accel::cli {

// Runs `accel config [default|update|explain|check] …`. Returns the exit code.
int RunConfig(const std::vector<std::string>& args, const Console& console);

}  // namespace accel::cli
