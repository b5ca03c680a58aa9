// Dispatches `accel COMMAND …` to the function of the command.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace accel::cli {

struct Command {
  std::string name;
  std::string summary;
  int (*run)(const std::vector<std::string>& args, const Console& console);
};

// Runs the command that the first word names, with the words after it. Handles --help, --version
// and `help COMMAND` itself. Returns the exit code.
int Dispatch(const std::vector<Command>& commands, const std::vector<std::string>& words,
             const Console& console);

}  // namespace accel::cli
