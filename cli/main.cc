// The `accel` command.
#include <iostream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/dispatch.h"
#include "cli/launch.h"

int main(int argc, char** argv) {
  const std::vector<accel::Command> commands = {
      {"launch", "run a program on this machine, in the foreground", accel::RunLaunch},
      {"submit", "give a cluster's coordinator a job", accel::RunSubmit},
      {"status", "list the jobs, or show one", accel::RunStatus},
      {"logs", "print what a job's processes have written", accel::RunLogs},
      {"cancel", "end a job", accel::RunCancel},
      {"nodes", "list the nodes of the cluster", accel::RunNodes},
  };
  const accel::Console console{std::cout, std::cerr};
  const int exit_code =
      accel::Dispatch(commands, std::vector<std::string>(argv + 1, argv + argc), console);
  std::cout << std::flush;
  return std::cout ? exit_code : accel::kExitError;  // A full disk is an error.
}
