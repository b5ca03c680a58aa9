// The command `accel test`, which checks whether a set-up can train.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace accel::cli {

// Runs accel-self-test on the configured set-up, and then a Python program if PyTorch is installed
// for Python. Returns the exit code of the one that failed first, or 0.
int RunTest(const std::vector<std::string>& args, const Console& console);

}  // namespace accel::cli
