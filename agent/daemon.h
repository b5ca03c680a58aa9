// Runs the agent's daemon, for main.cc. Opens the state directory, connects to the coordinator,
// makes all parts of the agent, and runs its loop until a signal asks it to stop.
#pragma once

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/output_limit.h"

namespace accel::agent {

// The treatment of an agent's jobs when the agent is asked to stop.
enum class OnStop {
  kAuto,   // kLeave if the host is shutting down, else kStay.
  kStay,   // Jobs continue, and the next agent adopts them.
  kLeave,  // The node says goodbye: its jobs start again on other nodes.
};

struct AgentDaemonOptions {
  std::string coordinator;  // See FindCoordinator() in common/coordinator_address.h.
  std::string state_dir;
  // If empty, the name in the certificate, or the host's name if there is no certificate.
  std::string name;
  // See ChooseAddress(). If empty, the source address of the route to a coordinator over TCP, or
  // 127.0.0.1 for a coordinator at a Unix socket.
  std::string advertise;
  // The ports for spare store sockets (common/port_range.h). If empty, any port.
  std::string port_range;
  std::string shim;                                // See agent/find_shim.h.
  std::string output_limit = kDefaultOutputLimit;  // See ParseOutputLimit().
  // Maximum number of processes and threads of a job on this node. If 0, the default for this node
  // (process/max_processes.h).
  int max_processes = 0;
  int store_sockets = 4;  // Number of spare sockets that listen for future stores.
  OnStop on_stop = OnStop::kAuto;
  // Accounts of the system that may run jobs, if the agent is root (docs/decisions/0068).
  std::set<std::string> allowed_system_users;
  std::set<std::string> pass_env;  // Variables that jobs of other users inherit from the agent.
  bool forget_cluster = false;     // If true, main() calls ForgetCluster() instead.
};

// Runs until `stop_fd` is readable (OK) or the agent cannot continue. With OnStop, the node's jobs
// may move to other nodes first. Otherwise, jobs that end with their agent are stopped before this
// returns. All other jobs continue, and the next agent with this state directory adopts them.
// INVALID_ARGUMENT: a bad option, with its name. FAILED_PRECONDITION: another agent uses the state
// directory, the node has no usable certificate, or the folder of the coordinator's socket is not
// safe. UNAUTHENTICATED: the coordinator refuses this node. ALREADY_EXISTS: another agent has
// taken over this node.
absl::Status RunAgentDaemon(const AgentDaemonOptions& options, int stop_fd);

// Lets the next agent with this state directory join any cluster (docs/decisions/0042). That agent
// ends the jobs that its new coordinator does not know. Returns a sentence that says what was done.
// FAILED_PRECONDITION: an agent uses the state directory.
absl::StatusOr<std::string> ForgetCluster(const AgentDaemonOptions& options);

}  // namespace accel::agent
