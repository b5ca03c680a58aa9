// Drops what a node reports about generations of other nodes. A stolen node can therefore decide
// nothing about jobs that have no part on it.
#pragma once

#include <cstdint>

#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Removes the generations that the coordinator knows and that have no part on `node`, which the
// report is about. Returns the number of removed generations. Keeps generations that the
// coordinator does not know, because the node must be asked to stop them.
int64_t DropForeignGenerations(const ClusterState& state, const NodeEntry& node,
                               v1::NodeObserved* report);

}  // namespace accel::coordinator
