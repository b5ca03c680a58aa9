// Runs the function of the command in `accel COMMAND …`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/console.h"

namespace accel::cli {

struct Command {
  std::string name;
  std::string summary;
  std::function<int(const std::vector<std::string>& args, const Console& console)> run;
  std::vector<std::string> parts = {};  // The words that may follow. Each has its own flags.
};

// Runs the command that the first word names, with the words after it. Handles --help,
// --help_man, --version and `help COMMAND` itself. Returns the exit code.
int Dispatch(const std::vector<Command>& commands, const std::vector<std::string>& words,
             const Console& console);

}  // namespace accel::cli
