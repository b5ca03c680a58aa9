// `accel estimate-memory`: how much memory a model takes, without loading it.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace accel::cli {

int RunEstimateMemory(const std::vector<std::string>& args, const Console& console);

}  // namespace accel::cli
