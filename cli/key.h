// `accel key show` prints the secret of launches over several machines.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace accel::cli {

// Takes the arguments after the name of the command. Returns the exit code of accel.
int RunKey(const std::vector<std::string>& args, const Console& console);

}  // namespace accel::cli
