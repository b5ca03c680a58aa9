// Drops what a node reports about generations of other nodes. A node speaks only for itself, so
// that a node in the wrong hands decides nothing about jobs that it does not have.
#pragma once

#include <cstdint>

#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Removes the generations that the coordinator knows and that have no part on the reporting node.
// Returns their number. Generations that the coordinator does not know remain, because the node
// must be asked to stop them.
int64_t DropForeignGenerations(const ClusterState& state, v1::NodeObserved* report);

}  // namespace accel::coordinator
