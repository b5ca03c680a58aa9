// The command `accel merge-weights`, which merges a sharded checkpoint into one file of weights.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace accel::cli {

int RunMergeWeights(const std::vector<std::string>& args, const Console& console);

}  // namespace accel::cli
