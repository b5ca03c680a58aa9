#include "cli/command_table.h"

#include "cli/commands.h"
#include "cli/config/config_command.h"
#include "cli/config/to_fsdp2_command.h"
#include "cli/estimate/estimate_command.h"
#include "cli/key.h"
#include "cli/launch.h"
#include "cli/merge_weights.h"
#include "cli/report/env_command.h"
#include "cli/self_test/test_command.h"

namespace accel::cli {

std::vector<Command> CommandTable() {
  return {
      {"launch", "run a program on this machine, or on several", RunLaunch},
      {"config",
       "make, explain and check configuration files",
       RunConfig,
       {"default", "update", "explain", "check"}},
      {"test", "check that the set-up can train", RunTest},
      {"env", "print the facts that a report of a problem needs", RunEnv},
      {"estimate-memory", "print how much memory a model takes", RunEstimateMemory},
      {"merge-weights", "merge a sharded checkpoint into one file of weights", RunMergeWeights},
      {"to-fsdp2", "convert a configuration file to version 2 of FSDP", RunToFsdp2},
      {"submit", "submit a job to a cluster", RunSubmit},
      {"resubmit", "submit a job again, as a new one", RunResubmit},
      {"status", "list the jobs, or show one", RunStatus},
      {"logs", "print the output of a job's processes", RunLogs},
      {"cancel", "cancel a job", RunCancel},
      {"nodes", "list the nodes of the cluster", RunNodes},
      {"node",
       "say which machines may be nodes of the cluster",
       RunNode,
       {"add", "list", "revoke", "remove"}},
      {"user", "say who may use the cluster", RunUser, {"add", "list", "revoke", "remove"}},
      {"login", "get a certificate with the key that an administrator gave you", RunLogin},
      {"whoami", "say who you are to the coordinator", RunWhoAmI},
      {"key", "show the key that machines of one launch have in common", RunKey, {"show"}},
      {"drain", "give a node no new work, and let its jobs end or move", RunDrain},
  };
}

}  // namespace accel::cli
