// A coordinator and agents in one process, one thread and simulated time: the real loops, over
// shims without processes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "cli/local_link.h"
#include "common/simulated_clock.h"
#include "coordinator/coordinator_loop.h"
#include "coordinator/store/memory_job_store.h"
#include "shim/host/fake_shim_host.h"

namespace accel::simulation {

// One node, whose agent can be killed and started again.
class SimulatedNode {
 public:
  SimulatedNode(std::string name, coordinator::Coordinator* coordinator, common::Clock* clock);

  void StartAgent();
  // kill -9: the shims end their jobs, and nobody reports it.
  void KillAgent();
  bool RunOnce();  // True if it has said something.

  shim::FakeShimHost& shims() { return *shims_; }
  const std::string& name() const { return name_; }

 private:
  const std::string name_;
  coordinator::Coordinator* const coordinator_;
  common::Clock* const clock_;
  int incarnation_ = 0;
  std::unique_ptr<shim::FakeShimHost> shims_;
  std::unique_ptr<agent::StoreSockets> sockets_;
  std::unique_ptr<cli::LocalLink> link_;
  agent::NoLogRelays relays_;
  std::unique_ptr<agent::Agent> agent_;
};

class SimulatedCluster {
 public:
  explicit SimulatedCluster(int nodes);

  // Lets coordinator and agents talk until nobody has anything to do at this moment.
  void Settle();
  // Settles, then lets time pass in steps of a heartbeat.
  void Advance(absl::Duration by);

  common::JobId Submit(const v1::JobSpec& spec);
  v1::Job Get(const common::JobId& job);
  SimulatedNode& node(int index) { return *nodes_[index]; }
  coordinator::CoordinatorLoop& coordinator() { return loop_; }

  // Every exec of the job's generation is done, on all nodes that have a part of it.
  void ExecDone(const common::JobId& job);
  void ExitAll(const common::JobId& job, const shim::ExitFact& how);

 private:
  common::SimulatedClock clock_;
  coordinator::MemoryJobStore store_;
  coordinator::CoordinatorLoop loop_;
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;
};

}  // namespace accel::simulation
