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

namespace accel {

// One node, whose agent can be killed and started again.
class SimulatedNode {
 public:
  SimulatedNode(std::string name, Coordinator* coordinator, Clock* clock);

  void StartAgent();
  // kill -9: the shims end their jobs, and nobody reports it.
  void KillAgent();
  bool RunOnce();  // True if it has said something.

  FakeShimHost& shims() { return *shims_; }
  const std::string& name() const { return name_; }

 private:
  const std::string name_;
  Coordinator* const coordinator_;
  Clock* const clock_;
  int incarnation_ = 0;
  std::unique_ptr<FakeShimHost> shims_;
  std::unique_ptr<StoreSockets> sockets_;
  std::unique_ptr<LocalLink> link_;
  NoLogRelays relays_;
  std::unique_ptr<Agent> agent_;
};

class SimulatedCluster {
 public:
  explicit SimulatedCluster(int nodes);

  // Lets coordinator and agents talk until nobody has anything to do at this moment.
  void Settle();
  // Settles, then lets time pass in steps of a heartbeat.
  void Advance(absl::Duration by);

  JobId Submit(const v1::JobSpec& spec);
  v1::Job Get(const JobId& job);
  SimulatedNode& node(int index) { return *nodes_[index]; }
  CoordinatorLoop& coordinator() { return loop_; }

  // Every exec of the job's generation is done, on all nodes that have a part of it.
  void ExecDone(const JobId& job);
  void ExitAll(const JobId& job, const ExitFact& how);

 private:
  SimulatedClock clock_;
  MemoryJobStore store_;
  CoordinatorLoop loop_;
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;
};

}  // namespace accel
