// A coordinator and agents in simulated time, with independent processes and an unreliable network.
// A seed decides everything, so a failure can be reproduced.
//
// Only time, the network (UnreliableLink) and processes (SimulatedProcesses) are simulated. The
// loops and cores of the coordinator and the agents are the real ones. After each small step, the
// processes that really run are compared with the invariants of docs/states.md.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/agent.h"
#include "common/simulated_clock.h"
#include "coordinator/coordinator_loop.h"
#include "coordinator/store/memory_store.h"
#include "tests/simulation/simulated_processes.h"
#include "tests/simulation/simulated_shims.h"
#include "tests/simulation/unreliable_link.h"

namespace accel::simulation {

// A host with an agent that can be killed, paused and disconnected.
class UnreliableNode {
 public:
  struct Habits {
    WorkerHabits workers;
    NetworkHabits network;
  };

  UnreliableNode(std::string name, int gpus, uint32_t seed, const Habits* habits,
                 coordinator::Coordinator* coordinator, common::Clock* clock);

  // Runs the processes, the link and the agent of this host once.
  void Run();

  std::string boot_id() const { return absl::StrCat("boot-", name_, "-", boot_); }
  // Kills the agent with SIGKILL. A new one starts at `until` and adopts the shims.
  void KillAgent(absl::Time until);
  // Restarts the host, which ends every process.
  void Reboot(absl::Time until);
  void PauseAgent(absl::Time until) { paused_until_ = until; }
  UnreliableLink& link() { return *link_; }
  // Returns when the coordinator last received a report of an agent of this node that was not a
  // repeated one.
  absl::Time last_heard() const { return std::max(heard_before_, link_->last_heard()); }

  const std::string& name() const { return name_; }
  const std::string id() const { return "id-" + name_; }
  const SimulatedProcesses& processes() const { return processes_; }

 private:
  void StartAgent();

  const std::string name_;
  const int gpus_;
  const Habits* const habits_;
  coordinator::Coordinator* const coordinator_;
  common::Clock* const clock_;
  std::mt19937 random_;
  SimulatedProcesses processes_;
  int incarnation_ = 0;
  int boot_ = 1;
  absl::Time starts_at_ =
      absl::InfinitePast();  // While there is no agent: when the next one starts.
  absl::Time paused_until_ = absl::InfinitePast();
  std::unique_ptr<UnreliableLink> link_;
  absl::Time heard_before_ = absl::InfinitePast();  // last_heard() of the agents before.
  std::unique_ptr<SimulatedShims> shims_;
  std::unique_ptr<agent::StoreSockets> sockets_;
  agent::NoLogRelays relays_;
  std::unique_ptr<agent::Agent> agent_;
};

class UnreliableCluster {
 public:
  UnreliableCluster(uint32_t seed, const UnreliableNode::Habits* habits);

  // Lets time pass in small steps and checks the invariants after each. FAILED_PRECONDITION: an
  // invariant does not hold; the message says what was found instead.
  absl::Status Run(absl::Duration time);

  // Runs until every job is in a final phase and no process is left. DEADLINE_EXCEEDED: that took
  // longer than `longest`; the message says what has not ended.
  absl::Status RunToTheEnd(absl::Duration longest);

  void Submit(v1::JobSpec spec);
  void Cancel(int job, bool at_once);  // Cancels the `job`-th submitted job, if there is one.
  void PauseCoordinator(absl::Duration time) { paused_until_ = clock_.Now() + time; }
  UnreliableNode& node(int index) { return *nodes_[static_cast<size_t>(index)]; }
  int nodes() const { return static_cast<int>(nodes_.size()); }
  absl::Time now() { return clock_.Now(); }

 private:
  void Turn();
  std::map<common::JobId, v1::Job> Jobs();
  absl::Status CheckInvariants();
  absl::Status CheckGenerations();
  absl::Status CheckGpus() const;
  absl::Status CheckLosses(const v1::Job& job);
  absl::Status CheckEnd(const v1::Job& job);
  void NoteSilence();
  bool GivenUpSince(const std::string& node, absl::Time since);

  common::SimulatedClock clock_;
  coordinator::MemoryStore store_;
  coordinator::CoordinatorLoop loop_;
  std::vector<std::unique_ptr<UnreliableNode>> nodes_;
  std::vector<common::JobId> jobs_;
  int submits_ = 0;
  absl::Time paused_until_ = absl::InfinitePast();
  std::map<common::JobId, v1::JobPhase> ended_;
  // When each node was last silent for the whole timeout. Generations that were placed on it before
  // may have been replaced elsewhere and may still have processes here.
  std::map<std::string, absl::Time> given_up_;
  std::map<common::GenerationId, absl::Time> placed_at_;
};

}  // namespace accel::simulation
