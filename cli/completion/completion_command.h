// `accel completion`: prints the script of a shell, and the words that the script asks for.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/dispatch.h"

namespace accel::cli {

// `commands` are those of accel, this one included. Returns the exit code.
int RunCompletion(const std::vector<Command>& commands, const std::vector<std::string>& args,
                  const Console& console);

}  // namespace accel::cli
