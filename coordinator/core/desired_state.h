// The desired state of a node, as a function of the cluster state: which generations the node must
// run, stop and forget. A generation that is not listed is stopped (docs/decisions/0004), so a
// desired state is published only after all jobs are loaded and the state is committed.
#pragma once

#include <string>
#include <vector>

#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Returns a short text that differs whenever the desired state differs in more than its version. It
// tells an unchanged desired state from a new one without building it, because one can be large.
std::string DesiredSignature(const ClusterState& state, const common::NodeId& node,
                             const std::vector<v1::LogReader>& readers);

// Returns the whole desired state of a node. The node must be in `state`.
v1::NodeDesired BuildDesired(const ClusterState& state, const common::NodeId& node,
                             const std::vector<v1::LogReader>& readers, uint64_t version);

}  // namespace accel::coordinator
