// `accel env`: the facts about a machine that a report of a problem needs.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace accel::cli {

int RunEnv(const std::vector<std::string>& args, const Console& console);

}  // namespace accel::cli
