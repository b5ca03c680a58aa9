// The agent of one node: makes the node match what the coordinator wants.
//
//   observe ─▶ exchange ─▶ reconcile ─▶ act, and again
//
// One thread calls everything; tests call RunOnce() by hand.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "agent/coordinator_link.h"
#include "agent/core/node_state.h"
#include "agent/log_relays.h"
#include "agent/shim/shim_host.h"
#include "agent/store_sockets.h"
#include "common/clock.h"

namespace accel {

class Agent {
 public:
  struct Options {
    v1::NodeObserved identity;          // See NodeState.
    std::vector<std::string> base_env;  // What workers inherit, as NAME=VALUE.
    std::string jobs_dir;               // Where output goes unless the job says otherwise.
    size_t jobs_kept = 200;             // Of finished jobs, the newest keep their output there.
    int generations_kept = 32;          // Of one job, the newest.
    absl::Duration heartbeat = absl::Seconds(1);  // Until the coordinator says otherwise.
  };

  // All outlive the agent.
  struct Dependencies {
    ShimHost* shims = nullptr;
    CoordinatorLink* link = nullptr;
    StoreSockets* store_sockets = nullptr;
    LogRelays* relays = nullptr;
    Clock* clock = nullptr;
  };

  Agent(Options options, Dependencies dependencies);

  // One turn, without waiting. Returns why the agent cannot go on, as CoordinatorLink::fatal()
  // does.
  absl::Status RunOnce();

  // Until there may be something to do: news, the next heartbeat, or `stop_fd` readable. Returns
  // true on the last.
  bool Wait(int stop_fd);

  // Turns until `stop_fd` is readable (OK) or the agent cannot go on.
  absl::Status Run(int stop_fd);

  const NodeState& state() const { return state_; }

 private:
  void Exchange();
  void Relay();
  void Act(const std::vector<AgentAction>& actions);
  void Perform(const StartGenerationAction& action);
  void Perform(const StopGenerationAction& action);
  void Perform(const EndShimAction& action);
  absl::Status Start(const StartGenerationAction& action, bool* has_shim);
  // What is kept of jobs that are over stays within bounds.
  void TidyUp();
  void ReportIfDue();

  const Options options_;
  const Dependencies with_;
  NodeState state_;
  // Of generations with a directory of the job's own choice.
  std::map<GenerationId, std::string> log_dirs_;
  std::set<JobId> jobs_;  // That were here when the last turn ended.
  uint64_t session_ = 0;
  uint64_t sequence_ = 0;
  uint64_t reported_revision_ = 0;
  absl::Duration heartbeat_;
  absl::Time next_report_ = absl::InfinitePast();
};

}  // namespace accel
