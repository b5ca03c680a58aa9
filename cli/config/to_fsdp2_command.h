// `accel to-fsdp2`: converts a configuration file to version 2 of FSDP.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace accel::cli {

int RunToFsdp2(const std::vector<std::string>& args, const Console& console);

}  // namespace accel::cli
