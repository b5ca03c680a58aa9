// `accel key show` prints the secret of launches over several machines.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace accel::cli {

// Runs the command with the arguments after its name. Returns the exit code of accel.
int RunKey(const std::vector<std::string>& args, const Console& console);

}  // namespace accel::cli
