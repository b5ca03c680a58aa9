// Compares the processes that really run in a simulated cluster, and what its clients were told,
// with the invariants of docs/states.md.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "coordinator/coordinator.h"
#include "tests/simulation/node_silence.h"
#include "tests/simulation/seen_faults.h"
#include "tests/simulation/simulated_client.h"
#include "tests/simulation/simulated_coordinator.h"
#include "tests/simulation/simulated_disk.h"
#include "tests/simulation/simulated_operator.h"
#include "tests/simulation/unreliable_node.h"

namespace accel::simulation {

// Not thread-safe. All errors are FAILED_PRECONDITION, and say what was found.
class ClusterInvariants {
 public:
  using Nodes = std::vector<std::unique_ptr<UnreliableNode>>;
  using Clients = std::vector<std::unique_ptr<SimulatedClient>>;

  // The pointers must outlive this object. `turn` is the time between two checks.
  ClusterInvariants(const Nodes* nodes, const Clients* clients, const SimulatedDisk* disk,
                    const SimulatedOperator* drains, SimulatedCoordinator* coordinator,
                    SeenFaults* seen, common::Clock* clock, absl::Duration turn)
      : nodes_(*nodes),
        clients_(*clients),
        disk_(*disk),
        drains_(*drains),
        coordinator_(*coordinator),
        seen_(*seen),
        clock_(*clock),
        silence_(turn) {}

  // Notes which nodes the coordinator may now give up. Called after the coordinator has run, before
  // anything else arrives.
  void NoteSilence();

  // Takes all jobs that the coordinator has published. Checks that it has forgotten none that it
  // has acknowledged, and that nothing final has changed.
  absl::Status TakeJobs(const std::vector<coordinator::JobPtr>& jobs);

  // Checks everything else. Called after each turn.
  absl::Status Check();

  // Returns the job's phase and reason.
  std::string Describe(const common::JobId& job) const;

 private:
  // What is known of a generation that a coordinator has published.
  struct Published {
    absl::Time at;           // When it was placed, which is before it was published.
    uint64_t socket = 0;     // The store socket that was planned for it. 0 if it has no store.
    std::string address;     // The address of that socket.
    bool lost_node = false;  // A lost node has been its cause.
    // The rank whose failure is the cause, and the time before which the coordinator knows that it
    // did not fail. InfinitePast if it may not know.
    int blamed = -1;
    absl::Time blamed_not_before = absl::InfinitePast();
    bool over = false;
    bool grows = false;  // It is stopped so that its job can grow.
  };

  const SimulatedClient* ClientOf(const common::JobId& job) const;
  bool WaitsFor(const UnreliableNode& node, const common::GenerationId& id) const;
  bool MayBeLost(const UnreliableNode& node, const v1::Job& job,
                 const v1::GenerationRecord& generation) const;
  bool MayHaveLostNode(const common::GenerationId& id) const;
  absl::Status CheckDrains(const v1::Job& job) const;
  absl::Status CheckLosses(const v1::Job& job);
  absl::Status CheckEnd(const v1::Job& job);
  absl::Status CheckCauses(const v1::Job& job);
  absl::Status CheckHang(const v1::Job& job) const;
  absl::Status CheckGrowth(const v1::Job& job);
  bool HasReportedCheckpoint(const common::GenerationId& id) const;
  void NoteCause(const common::GenerationId& id, const v1::FailureCause& cause);
  absl::Status CheckCause(const common::GenerationId& id);
  absl::Status CheckSuccess(const v1::Job& job) const;
  absl::Status CheckNotForgotten(const std::map<common::JobId, coordinator::JobPtr>& before) const;
  absl::Status CheckRanks();
  absl::Status CheckFences() const;
  absl::Status CheckStrangers() const;
  absl::Status CheckGpus() const;
  absl::Status CheckSockets();
  absl::Status CheckGraces();
  absl::Status CheckTimeLimits() const;
  absl::Status CheckClients() const;

  const Nodes& nodes_;
  const Clients& clients_;
  const SimulatedDisk& disk_;
  const SimulatedOperator& drains_;
  SimulatedCoordinator& coordinator_;
  SeenFaults& seen_;
  common::Clock& clock_;
  std::map<common::JobId, coordinator::JobPtr> jobs_;
  std::map<common::GenerationId, Published> published_;
  std::map<common::JobId, v1::JobPhase> ended_;
  NodeSilence silence_;
  std::map<uint64_t, common::GenerationId> socket_users_;  // The first user of each socket.
};

}  // namespace accel::simulation
