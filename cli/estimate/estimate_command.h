// The command `accel estimate-memory`, which shows how much memory a model takes, without
// loading the model.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace accel::cli {

int RunEstimateMemory(const std::vector<std::string>& args, const Console& console);

}  // namespace accel::cli
