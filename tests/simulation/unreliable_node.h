// A host with an agent. The agent can be killed, paused and disconnected, and the host can lose its
// power.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/agent.h"
#include "tests/simulation/host_clock.h"
#include "tests/simulation/node_disk.h"
#include "tests/simulation/seen_faults.h"
#include "tests/simulation/simulated_coordinator.h"
#include "tests/simulation/simulated_processes.h"
#include "tests/simulation/simulated_shims.h"
#include "tests/simulation/unreliable_link.h"

namespace accel::simulation {

// Not thread-safe.
class UnreliableNode {
 public:
  struct Habits {
    WorkerHabits workers;
    NetworkHabits network;
  };

  // The pointers must outlive the node.
  UnreliableNode(std::string name, int gpus, uint32_t seed, const Habits* habits,
                 const PlantedBug* bug, SeenFaults* seen, SimulatedCoordinator* coordinator,
                 common::Clock* clock);

  // Runs the processes, the link and the agent of this host once.
  void Run();

  // Kills the agent with SIGKILL. A new one starts after `away` and adopts the shims.
  void KillAgent(absl::Duration away);
  // Does the same after this step of the agent's next start.
  void KillAgentInStart(StartStep step, absl::Duration away);
  void PauseAgent(absl::Duration time) { paused_until_ = clock_->Now() + time; }
  // Kills the job's shim with SIGKILL, if there is an agent.
  void KillShim(const common::JobId& job);
  // Ends all processes at once. The host and its agent start again after `away`.
  void Reboot(absl::Duration away);
  // Does the same, and takes files that were not synced.
  void LosePower(absl::Duration away);
  // Shuts the host down: its agent says goodbye, and soon the host is off. Then as Reboot().
  void ShutDown(absl::Duration away);
  // Returns true from the goodbye until the host is off.
  bool shuts_down() const { return off_at_ != absl::InfiniteFuture(); }
  // For this long, the agent finds a coordinator of another cluster at its coordinator's address.
  void GoAstray(SimulatedCoordinator* stranger, absl::Duration time);
  // Returns true if a coordinator of another cluster has stopped processes of this node.
  bool obeyed_a_stranger() const { return obeyed_a_stranger_; }
  // Ends the pause, and starts the host and the agent if they are down.
  void EndFaults();

  NodeDisk& disk() { return disk_; }
  HostClock& host_clock() { return host_clock_; }
  UnreliableLink& link() { return link_; }
  const UnreliableLink& link() const { return link_; }
  // Returns true if an agent runs and is not paused.
  bool agent_runs() const { return agent_ != nullptr && clock_->Now() >= paused_until_; }

  const std::string& name() const { return name_; }
  std::string id() const { return "id-" + name_; }
  std::string boot_id() const { return absl::StrCat("boot-", name_, "-", boot_); }
  // Returns when an agent last died. InfinitePast if none did.
  absl::Time agent_died_at() const { return agent_died_at_; }
  SimulatedProcesses& processes() { return processes_; }
  const SimulatedProcesses& processes() const { return processes_; }

 private:
  void StartAgent();

  const std::string name_;
  const int gpus_;
  const PlantedBug& bug_;
  SeenFaults& seen_;
  common::Clock* const clock_;
  HostClock host_clock_;
  NodeDisk disk_;
  SimulatedProcesses processes_;
  UnreliableLink link_;
  int incarnation_ = 0;
  int boot_ = 1;
  absl::Time astray_until_ = absl::InfinitePast();
  bool obeyed_a_stranger_ = false;
  absl::Time off_at_ = absl::InfiniteFuture();
  absl::Duration off_for_;
  absl::Time paused_until_ = absl::InfinitePast();
  absl::Time agent_died_at_ = absl::InfinitePast();
  absl::Time start_at_ =
      absl::InfinitePast();  // While there is no agent: when the next one starts.
  std::unique_ptr<SimulatedShims> shims_;
  absl::Duration away_after_start_;  // See KillAgentInStart().
  // The sockets of each agent. Those of dead agents remain open, so that no later socket gets the
  // same port from the kernel.
  std::vector<std::unique_ptr<agent::StoreSockets>> sockets_;
  agent::NoLogRelays relays_;
  std::unique_ptr<agent::Agent> agent_;
};

}  // namespace accel::simulation
