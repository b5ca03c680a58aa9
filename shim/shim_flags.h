// The command line of accel-shim.
#pragma once

#include <optional>

#include "shim/shim.h"

namespace accel::shim {

// Parses the command line, sets the job and the descriptors of `options`, and returns nullopt. If
// it prints help, the version or an error instead, it returns the exit code.
std::optional<int> ParseShimFlags(int argc, char** argv, ShimOptions* options);

}  // namespace accel::shim
