// The `accel` command.
#include <iostream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/completion/completion_command.h"
#include "cli/config/config_command.h"
#include "cli/config/to_fsdp2_command.h"
#include "cli/dispatch.h"
#include "cli/estimate/estimate_command.h"
#include "cli/key.h"
#include "cli/launch.h"
#include "cli/report/env_command.h"
#include "cli/self_test/test_command.h"

int main(int argc, char** argv) {
  std::vector<accel::cli::Command> commands = {
      {"launch", "run a program on this machine, or on several", accel::cli::RunLaunch},
      {"config",
       "make, explain and check configuration files",
       accel::cli::RunConfig,
       {"default", "update", "explain", "check"}},
      {"test", "check that the set-up can train", accel::cli::RunTest},
      {"env", "print the facts that a report of a problem needs", accel::cli::RunEnv},
      {"estimate-memory", "print how much memory a model takes", accel::cli::RunEstimateMemory},
      {"to-fsdp2", "convert a configuration file to version 2 of FSDP", accel::cli::RunToFsdp2},
      {"submit", "submit a job to a cluster", accel::cli::RunSubmit},
      {"resubmit", "submit a job again, as a new one", accel::cli::RunResubmit},
      {"status", "list the jobs, or show one", accel::cli::RunStatus},
      {"logs", "print the output of a job's processes", accel::cli::RunLogs},
      {"cancel", "cancel a job", accel::cli::RunCancel},
      {"nodes", "list the nodes of the cluster", accel::cli::RunNodes},
      {"node",
       "say which machines may be nodes of the cluster",
       accel::cli::RunNode,
       {"add", "list", "revoke", "remove"}},
      {"user", "say who may use the cluster", accel::cli::RunUser, {"add", "list", "revoke"}},
      {"login", "get a certificate with the key that an administrator gave you",
       accel::cli::RunLogin},
      {"whoami", "say who you are to the coordinator", accel::cli::RunWhoAmI},
      {"key",
       "show the key that machines of one launch have in common",
       accel::cli::RunKey,
       {"show"}},
      {"drain", "give a node no new work, and let its jobs end or move", accel::cli::RunDrain},
  };
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
