// The desired state of a node, as a function of the cluster state: the generations that the node
// must run, stop and forget. An agent stops each generation that is not listed
// (docs/decisions/0004). A desired state is therefore published only after all jobs are loaded and
// the state is committed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/worker_env.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/core/desired.h"

namespace accel::coordinator {

// The parts of starts that nodes share. Encodes each when it is first needed. Valid as long as the
// state does not change. Not thread-safe.
class SharedStarts {
 public:
  // Returns what a node of this world shares with all nodes of the generation that have the same
  // interface, local world size and GPUs.
  std::shared_ptr<const SharedStart> Find(const Limits& limits, const v1::JobSpec& spec,
                                          const common::NodeWorld& world);

 private:
  absl::flat_hash_map<std::string, std::shared_ptr<const SharedStart>> starts_;
};

// Returns a short text that differs whenever the desired state differs in more than its version. It
// tells an unchanged desired state from a new one without building it, because one can be large.
std::string DesiredSignature(const ClusterState& state, const NodeEntry& node,
                             const std::vector<v1::LogReader>& readers);

// Returns the whole desired state of a node of `state`. `starts` must have been
// used for this state only.
Desired BuildDesired(const ClusterState& state, const NodeEntry& node,
                     const std::vector<v1::LogReader>& readers, uint64_t version,
                     SharedStarts* starts);

}  // namespace accel::coordinator
