// A coordinator, agents and clients in simulated time. A seed decides everything, so a failure can
// be reproduced (docs/decisions/0040).
//
// Simulated are time, the network (UnreliableLink, SimulatedClient), the disk (SimulatedDisk) and
// processes (SimulatedProcesses). The loops, the cores and the recovery of the coordinator and the
// agents are the real ones. After each small step, the processes that really run and what clients
// were told are compared with the invariants of docs/states.md (cluster_invariants.h).
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/simulated_clock.h"
#include "tests/simulation/cluster_invariants.h"
#include "tests/simulation/planted_bug.h"
#include "tests/simulation/seen_faults.h"
#include "tests/simulation/simulated_client.h"
#include "tests/simulation/simulated_coordinator.h"
#include "tests/simulation/simulated_disk.h"
#include "tests/simulation/simulated_operator.h"
#include "tests/simulation/unreliable_node.h"

namespace accel::simulation {

// How everything behaves in one schedule.
struct ClusterHabits {
  UnreliableNode::Habits nodes;
  ClientHabits clients;
  DiskHabits disk;
};

// Three hosts with agents, named n1 to n3, and one for the coordinator. Not thread-safe.
class UnreliableCluster {
 public:
  // `bug` must outlive the cluster.
  UnreliableCluster(uint32_t seed, const PlantedBug* bug);

  // Lets time pass in small steps and checks the invariants after each. FAILED_PRECONDITION: an
  // invariant does not hold; the message says what was found instead.
  absl::Status Run(absl::Duration time);

  // Stops all faults and runs until every client knows the end of its job and no process is left.
  // DEADLINE_EXCEEDED: that took longer than `longest`; the message says what has not ended.
  absl::Status RunToTheEnd(absl::Duration longest);

  // Adds a client that submits this job. The job's number must be new.
  void Submit(int number, v1::JobSpec spec);
  // Returns null if there is no such client or node.
  SimulatedClient* client(int number);
  UnreliableNode* node(absl::string_view name);
  SimulatedCoordinator& coordinator() { return coordinator_; }
  SimulatedDisk& disk() { return disk_; }
  SimulatedOperator& drains() { return operator_; }
  // A coordinator of another cluster, which has an empty store and always runs.
  SimulatedCoordinator& stranger() { return stranger_; }

  // Returns the kinds of faults that have happened so far.
  const SeenFaults& seen() const { return seen_; }
  // Returns the time since the cluster's start.
  absl::Duration time() { return clock_.Now() - start_; }

 private:
  absl::Status Turn();
  std::vector<coordinator::JobPtr> ListJobs();
  bool IsOver() const;
  std::string WhatIsLeft() const;

  const uint32_t seed_;
  ClusterHabits habits_;
  SeenFaults seen_;
  common::SimulatedClock clock_;
  const absl::Time start_ = clock_.Now();
  SimulatedDisk disk_;
  SimulatedDisk disk_of_stranger_;
  std::vector<std::unique_ptr<UnreliableNode>> nodes_;
  std::vector<std::unique_ptr<SimulatedClient>> clients_;
  SimulatedOperator operator_{&coordinator_, &clock_};
  // Destroyed before the nodes, clients and the operator, because it calls them.
  SimulatedCoordinator coordinator_;
  SimulatedCoordinator stranger_;
  ClusterInvariants invariants_;
  int commits_listed_ = -1;
  uint64_t life_listed_ = 0;
};

}  // namespace accel::simulation
