// The command `accel env`, which prints the facts about a machine that a problem report needs.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace accel::cli {

int RunEnv(const std::vector<std::string>& args, const Console& console);

}  // namespace accel::cli
