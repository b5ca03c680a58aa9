// The places where a test can put a bug between the real parts, to show that the simulation finds
// it. All are empty in a simulation of the real program. planted_bugs.h has the bugs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/store/store.h"
#include "proto/node.pb.h"

namespace accel::simulation {

struct PlantedBug {
  std::string name;
  // Wraps the store of each new process of the coordinator. The wrapper dies with the process.
  std::function<std::unique_ptr<coordinator::Store>(coordinator::Store*)> store;
  // Replaces RowsAfterTornCommit() of torn_commit.h.
  std::function<absl::StatusOr<std::vector<coordinator::Row>>(
      const std::vector<coordinator::Row>& before, const coordinator::RowBatch& batch, double part)>
      torn_commit;
  // The host of the coordinator loses the last commit that succeeded when it loses its power.
  bool lies_about_fsync = false;
  // An agent takes a shim that has left no result for one that never received its start.
  bool forgets_starts = false;
  // Changes a report on its way from an agent to the coordinator.
  std::function<void(v1::NodeObserved*)> report;
  // Changes a desired state on its way from the coordinator to an agent.
  std::function<void(v1::NodeDesired*)> desired;
};

}  // namespace accel::simulation
