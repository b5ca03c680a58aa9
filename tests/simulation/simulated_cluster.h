// A coordinator and agents in one process, on one thread and in simulated time. The loops are
// the real ones. The shims are fakes without processes, and the network is perfect. For
// faults see unreliable_cluster.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "cli/local_link.h"
#include "common/simulated_clock.h"
#include "coordinator/coordinator_loop.h"
#include "coordinator/store/memory_store.h"
#include "shim/host/fake_shim_host.h"

namespace accel::simulation {

// A node whose agent can be killed and restarted.
class SimulatedNode {
 public:
  SimulatedNode(std::string name, coordinator::Coordinator* coordinator, common::Clock* clock);

  // Starts an agent, which adopts the shims of the one before.
  void StartAgent();
  // Kills the agent with SIGKILL.
  void KillAgent();
  // Restarts the host and its agent. No process is left.
  void Reboot();
  // Runs the agent's loop once. Returns true if its state has changed.
  bool RunOnce();

  shim::FakeShimHost& shims() { return *shims_; }
  const std::string& name() const { return name_; }

 private:
  const std::string name_;
  coordinator::Coordinator* const coordinator_;
  common::Clock* const clock_;
  int incarnation_ = 0;
  int boot_ = 1;
  std::unique_ptr<shim::FakeShimHost> shims_;
  std::unique_ptr<agent::StoreSockets> sockets_;
  std::unique_ptr<cli::LocalLink> link_;
  agent::NoLogRelays relays_;
  std::unique_ptr<agent::Agent> agent_;
};

class SimulatedCluster {
 public:
  explicit SimulatedCluster(int nodes);

  // Runs the coordinator and the agents until none has anything to do at this time.
  void Settle();
  // Calls Settle(), then lets time pass in steps of a heartbeat.
  void Advance(absl::Duration by);

  common::JobId Submit(const v1::JobSpec& spec);
  v1::Job Get(const common::JobId& job);
  SimulatedNode& node(int index) { return *nodes_[index]; }
  coordinator::CoordinatorLoop& coordinator() { return loop_; }

  // Reports from all nodes with a part of the job's generation that its workers have
  // done their exec.
  void ExecDone(const common::JobId& job);
  void ExitAll(const common::JobId& job, const shim::ExitFact& how);

 private:
  common::SimulatedClock clock_;
  coordinator::MemoryStore store_;
  coordinator::CoordinatorLoop loop_;
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;
};

}  // namespace accel::simulation
