// The whole agent, from its options to a process that runs for months.
#pragma once

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/output_limit.h"

namespace accel::agent {

// What an agent does about its jobs when it gets SIGTERM.
enum class OnStop {
  kAuto,   // kLeave if the host is shutting down, else kStay.
  kStay,   // Jobs continue, and the next agent adopts them.
  kLeave,  // The node says goodbye: its jobs start again on other nodes.
};

struct AgentDaemonOptions {
  std::string coordinator;  // See FindCoordinator() in common/coordinator_address.h.
  std::string state_dir;
  std::string name;  // If empty, the name in the certificate, or without one the host's name.
  // See ChooseAddress(). If empty, the source address of the route to the coordinator.
  std::string advertise;
  std::string port_range;  // Of spare store sockets; see common/port_range.h. If empty, any port.
  std::string shim;        // See agent/find_shim.h.
  std::string output_limit = kDefaultOutputLimit;  // See ParseOutputLimit().
  int store_sockets = 4;  // Number of spare sockets that listen for future stores.
  OnStop on_stop = OnStop::kAuto;
  // Accounts of the system that may run jobs, if the agent is root (docs/decisions/0068).
  std::set<std::string> allowed_system_users;
  std::set<std::string> pass_env;  // Variables that jobs of other users inherit from the agent.
  bool forget_cluster = false;     // Call ForgetCluster() instead of RunAgentDaemon().
};

// Runs until `stop_fd` is readable, or the agent cannot continue. Returns OK in the first case,
// after every job of this node that ends with its agent has ended, or has been given to other nodes
// (OnStop). The other jobs continue, and the next agent with this state directory adopts them.
// INVALID_ARGUMENT: a bad option, with its name. FAILED_PRECONDITION: another agent uses the state
// directory. UNAUTHENTICATED: the coordinator refuses this node. ALREADY_EXISTS: another agent has
// taken over this node.
absl::Status RunAgentDaemon(const AgentDaemonOptions& options, int stop_fd);

// Lets the next agent with this state directory join any cluster, which ends the jobs that it does
// not know (docs/decisions/0042). Returns a sentence that says what was done. FAILED_PRECONDITION:
// an agent uses the state directory.
absl::StatusOr<std::string> ForgetCluster(const AgentDaemonOptions& options);

}  // namespace accel::agent
