// The `accel` command.
#include <iostream>
#include <string>
#include <vector>

#include "cli/command_table.h"
#include "cli/completion/completion_command.h"
#include "cli/dispatch.h"

int main(int argc, char** argv) {
  std::vector<accel::cli::Command> commands = accel::cli::CommandTable();
  commands.push_back({"completion", "print the script that completes the words of a shell",
                      [&commands](const auto& args, const auto& console) {
                        return accel::cli::RunCompletion(commands, args, console);
                      }});
  const accel::cli::Console console{std::cout, std::cerr, accel::cli::OutputHasColors(), nullptr};
  const int exit_code =
      accel::cli::Dispatch(commands, std::vector<std::string>(argv + 1, argv + argc), console);
  std::cout << std::flush;
  return std::cout ? exit_code : accel::cli::kExitError;  // A full disk is an error.
}
