// The agent of one node. It makes the node match the desired state of the coordinator.
//
// clang-format off
//   observe ─▶ exchange ─▶ reconcile ─▶ act, and again
// clang-format on
//
// Not thread-safe: one thread makes all calls. Tests call RunOnce() directly.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/accounts.h"
#include "agent/code/code_folders.h"
#include "agent/coordinator_link.h"
#include "agent/core/cluster_membership.h"
#include "agent/core/node_state.h"
#include "agent/core/report_schedule.h"
#include "agent/log_relays.h"
#include "agent/state/output_pruner.h"
#include "agent/store_sockets.h"
#include "common/clock.h"
#include "shim/host/shim_host.h"

namespace accel::agent {

class Agent {
 public:
  struct Options {
    v1::NodeObserved identity;          // See NodeState.
    std::vector<std::string> base_env;  // The environment that workers inherit, as NAME=VALUE.
    std::string jobs_dir;               // The folder for output of jobs that name none.
    // Limits for the output in jobs_dir. The constructor sets their jobs_dir.
    OutputPruner::Options output = {};
    // The names of variables of this process that jobs of other users inherit too.
    std::set<std::string> pass_env = {};
    // The interval of reports until the coordinator sets another one.
    absl::Duration heartbeat = absl::Seconds(1);
    // The wall clock whose beats the heartbeats keep. If null, they keep none.
    std::function<absl::Time()> wall = nullptr;
    std::string cluster;  // See ClusterMembership.
    // Called before the agent joins a cluster, to store the cluster's id for the next agent. If
    // null, nothing is stored.
    std::function<absl::Status(const std::string& cluster)> remember_cluster;
  };

  // All of them must outlive the agent.
  struct Dependencies {
    shim::ShimHost* shims = nullptr;
    CoordinatorLink* link = nullptr;
    StoreSockets* store_sockets = nullptr;
    LogRelays* relays = nullptr;
    Accounts* accounts = nullptr;  // If null, all jobs run as this process's user.
    CodeFolders* code = nullptr;   // If null, no job with an upload can start.
    common::Clock* clock = nullptr;
  };

  // Adopts the shims that an earlier agent of this node has left, which blocks for a bounded time.
  // The agent reports nothing before that, because the coordinator considers every generation lost
  // that a report does not list.
  Agent(Options options, Dependencies dependencies);

  // Runs one turn without waiting. Returns the status of CoordinatorLink::fatal(): an error if the
  // agent cannot continue.
  absl::Status RunOnce();

  // Waits until there may be something to do, `stop_fd` is readable, or the time is `until`.
  // Something to do is news from a shim, the coordinator, a lookup or a fetch, or that the next
  // report is due. Returns true if `stop_fd` is readable.
  bool Wait(int stop_fd, absl::Time until = absl::InfiniteFuture());

  // Runs turns until `stop_fd` is readable (OK) or the agent cannot continue.
  absl::Status Run(int stop_fd);

  // Notes that the node leaves, or that only its agent stops (agent_leave.cc). All further reports
  // say so, for the reason `why`. The coordinator then stops the jobs that leave with it, and
  // starts them on other nodes.
  void SayGoodbye(Leaver leaver, const std::string& why) { state_.SayGoodbye(leaver, why); }
  // Returns true if the coordinator has taken the goodbye, and has stored the ends of all
  // generations that leave.
  bool has_left(Leaver leaver) const;
  // Says goodbye, and runs turns until has_left(). Does nothing if only the agent stops and no job
  // ends with it. Stops waiting after a bounded time, if `stop_fd` is readable, or if the agent
  // cannot continue. Processes that run when it returns continue, except those of jobs that end
  // with their agent.
  void Leave(Leaver leaver, const std::string& why, int stop_fd);

  const NodeState& state() const { return state_; }

 private:
  void Exchange();
  bool MayObey(const v1::NodeDesired& desired);
  absl::Status Join(const std::string& cluster);
  void Obey(v1::NodeDesired desired);
  void Relay();
  void Act(const std::vector<AgentAction>& actions);
  void Perform(const StartPart& action);
  void Perform(const StopPart& action);
  void Perform(const EndShim& action);
  // Returns true if a start need not wait for a lookup of its account or for its upload. Adds the
  // job's upload to `uploads`, if it has one and its account is known.
  bool MayStart(const v1::DesiredGeneration& desired, std::vector<CodeRequest>* uploads);
  absl::Status Start(const StartPart& action, bool* has_shim);
  // Makes the workers start in the job's upload, if it has one and names no working directory.
  absl::Status EnterUpload(const v1::DesiredGeneration& desired, shim::StartCommand* start) const;
  absl::Status StartShim(const common::JobId& job, const std::optional<process::Account>& user);
  // Checks that the job's shim runs as `user`. FAILED_PRECONDITION: it runs as another user.
  absl::Status CheckShim(const common::JobId& job,
                         const std::optional<process::Account>& user) const;
  // Makes the folder for the job's output with the right owner. Does nothing if the job names its
  // own folder, or if the shim can make it.
  absl::Status PrepareFolder(const v1::DesiredGeneration& desired,
                             const std::optional<process::Account>& user);
  // Returns the account of a job, or nullopt if it runs as this process's user.
  absl::StatusOr<std::optional<process::Account>> AccountOf(const std::string& runs_as) const;
  // Sets with whose rights the relay reads. Returns false while the account is being looked up.
  bool SetRights(const v1::LogReader& reader, RelaySource* source) const;
  // Passes the jobs of this node to the pruner.
  void TidyUp();
  void NoteRefusals();
  // Returns when the next report must be sent.
  absl::Time ReportDue() const;
  void ReportIfDue();

  const Options options_;
  const Dependencies with_;
  NodeState state_;
  ClusterMembership membership_;
  // The newest desired state of this session, while it is refused.
  std::optional<v1::NodeDesired> refused_;
  OutputPruner pruner_;
  std::set<common::JobId> jobs_;  // The jobs that have a generation on this node.
  int64_t refusals_noted_ = 0;
  uint64_t session_ = 0;
  uint64_t sequence_ = 0;
  ReportSchedule reports_;
  absl::Time answered_at_;  // When the newest desired state of this session arrived.
  absl::Duration heartbeat_;
};

}  // namespace accel::agent
