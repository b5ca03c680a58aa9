// What is known of a generation's part on one node.
#pragma once

#include <string>
#include <vector>

#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

struct Part {
  enum class State {
    kAwaited,  // The node has not answered yet.
    kStarting,
    kRunning,
    kStopping,
    kEnded,  // No process of it is left, or none ever was.
    kLost,   // Its node is gone, was started anew without it, or has forgotten it.
  };
  State state = State::kAwaited;
  const v1::Placement* placement = nullptr;
  const v1::ObservedGeneration* observed = nullptr;  // Null: the node reports none.
  bool ended_well = false;                           // Every rank of it has exited with code 0.
  std::string loss;                                  // kLost: why, to follow "node b was lost: ".
};

// The parts of the current generation, by machine rank. The job must hold nodes.
std::vector<Part> LookAtParts(const ClusterState& state, const JobEntry& job, absl::Time now);

// Its node could not start it, for a reason of the node's: no shim, no process, no descriptors, no
// room. What the job lacks there (its program, its script: 127, 126) is the job's.
bool NodeCouldNotStart(const Part& part);

// The exits that the part reports of its own ranks, by rank; ranks that it does not own are left
// out.
std::vector<const v1::ObservedWorker*> ExitedWorkers(const Part& part);

}  // namespace accel::coordinator
