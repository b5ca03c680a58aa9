// The command `accel completion`. It prints the script of a shell, and the words that the
// script asks for.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/dispatch.h"

namespace accel::cli {

// Runs the command. `commands` are all commands of accel, including this one. Returns
// the exit code.
int RunCompletion(const std::vector<Command>& commands, const std::vector<std::string>& args,
                  const Console& console);

}  // namespace accel::cli
