// The part of a generation on one node, as the coordinator knows it from the node's newest report
// and from the node's silence.
#pragma once

#include <string>
#include <vector>

#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

struct Part {
  enum class State {
    kAwaited,  // The node has not reported the part yet.
    kStarting,
    kRunning,
    kStopping,
    kEnded,  // The part has no process left, or never had one.
    kLost,   // The node is gone or was rebooted, or its agent no longer has the part.
  };
  State state = State::kAwaited;
  const v1::Placement* placement = nullptr;
  const NodeEntry* node = nullptr;                   // Null if the coordinator has no such node.
  const v1::ObservedGeneration* observed = nullptr;  // Null if the node does not report the part.
  bool ended_well = false;                           // Every rank has exited with code 0.
  // True if the node is silent and the job waits for it (silence.h). `state` is then the last one
  // that is known.
  bool silent = false;
  std::string loss;  // If kLost, the reason. It follows the words "node b was lost: ".
  // True if the part is lost because the node has said goodbye and is still connected. Its ranks
  // work until they are stopped. The reason then follows the words "node b was preempted: ".
  bool preempted = false;
};

// Returns one part of the job's current generation. The job must hold nodes. `node` is the node of
// the part, or null if the coordinator has no such node.
Part LookAtPart(const ClusterState& state, const JobEntry& job, int machine_rank,
                const NodeEntry* node, absl::Time now);

// Returns the parts of the job's current generation, by machine rank. The job must hold nodes.
std::vector<Part> LookAtParts(const ClusterState& state, const JobEntry& job, absl::Time now);

// Returns true if the part is RUNNING, so every rank has done its exec, or has ended well. A short
// job may end before the node reports RUNNING.
bool IsStarted(const Part& part);

// Returns true if the part may have processes, now or later.
bool HasProcesses(const Part& part);

// Returns true if the node reports that the spare store socket of the plan no longer existed.
bool IsSocketGone(const Part& part);

// Returns true if the node could not start the part for a reason of its own: it has no shim,
// process, descriptors or room on the disk. A program or script that the node lacks (127, 126) is
// the job's own failure (docs/decisions/0024).
bool NodeCouldNotStart(const Part& part);

// Returns the workers of the part that have exited, sorted by rank. Leaves out ranks that the node
// reports but that belong to other nodes.
std::vector<const v1::ObservedWorker*> ExitedWorkers(const Part& part);

}  // namespace accel::coordinator
