// The agent of one node: makes the node match what the coordinator wants.
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
    std::string jobs_dir;               // The directory of output, unless the job names another.
    // Limits for the output in jobs_dir. The constructor sets their jobs_dir.
    OutputPruner::Options output = {};
    // The names of variables of this process that jobs of other users inherit too.
    std::set<std::string> pass_env = {};
    absl::Duration heartbeat = absl::Seconds(1);  // Until the coordinator sets another one.
    std::string cluster;                          // See ClusterMembership.
    // Stores the cluster that the agent is about to join. If null, the next agent does not need it.
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
  // Nothing is reported before, because the coordinator takes what a report does not list for lost.
  Agent(Options options, Dependencies dependencies);

  // Runs one turn without waiting. Returns the status of CoordinatorLink::fatal(): an error if the
  // agent cannot continue.
  absl::Status RunOnce();

  // Waits until there may be something to do: news, the next heartbeat, `stop_fd` readable, or the
  // time is `until`. Returns true if `stop_fd` is readable.
  bool Wait(int stop_fd, absl::Time until = absl::InfiniteFuture());

  // Runs turns until `stop_fd` is readable (OK) or the agent cannot continue.
  absl::Status Run(int stop_fd);

  // Tells the coordinator that the node is leaving, because `why`. The coordinator then has its
  // jobs stopped here, and starts them elsewhere (docs/decisions/0043).
  void SayGoodbye(const std::string& why) { state_.SayGoodbye(why); }
  // Returns true if the coordinator knows of the goodbye and no process is left.
  bool has_left() const { return state_.goodbye_taken() && !state_.Holdings().processes; }
  // Says goodbye, and runs turns until has_left(). Gives up after some seconds, for example because
  // there is no coordinator. What has not been stopped then continues.
  void Leave(const std::string& why);

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
  // Returns true if a start need not wait, and adds the upload for which it must.
  bool MayStart(const v1::DesiredGeneration& desired, std::vector<CodeRequest>* uploads);
  absl::Status Start(const StartPart& action, bool* has_shim);
  // Makes the workers start in the job's upload, if there is one.
  absl::Status EnterUpload(const v1::DesiredGeneration& desired, shim::StartCommand* start) const;
  absl::Status StartShim(const common::JobId& job, const std::optional<process::Account>& user);
  // FAILED_PRECONDITION: the shim that the job has is not that of `user`.
  absl::Status CheckShim(const common::JobId& job,
                         const std::optional<process::Account>& user) const;
  // Makes the folder of the job's output, unless it names another place or the shim makes it.
  absl::Status PrepareFolder(const v1::DesiredGeneration& desired,
                             const std::optional<process::Account>& user);
  // Returns the account of a job, or nullopt if it runs as this process's user.
  absl::StatusOr<std::optional<process::Account>> AccountOf(const std::string& runs_as) const;
  // Sets whose rights the relay has. Returns false while that is not known.
  bool SetRights(const v1::LogReader& reader, RelaySource* source) const;
  // Passes the jobs of this node to the pruner.
  void TidyUp();
  void NoteRefusals();
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
  uint64_t reported_revision_ = 0;
  absl::Time answered_at_;  // When the newest desired state of this session arrived.
  absl::Duration heartbeat_;
  absl::Time next_report_ = absl::InfinitePast();
};

}  // namespace accel::agent
