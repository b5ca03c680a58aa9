// What a node shall do, as a function of the state. Published only once the state is committed.
#pragma once

#include <string>
#include <vector>

#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Short, and different whenever the desired state is (its version aside): so that an unchanged one,
// which may be large, need not be built to be recognised.
std::string DesiredSignature(const ClusterState& state, const common::NodeId& node,
                             const std::vector<v1::LogReader>& readers);

// The whole desired state of a node that has been seen.
v1::NodeDesired BuildDesired(const ClusterState& state, const common::NodeId& node,
                             const std::vector<v1::LogReader>& readers, uint64_t version);

}  // namespace accel::coordinator
