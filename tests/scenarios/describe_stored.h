// The part of a coordinator's state that must survive it, as text for comparisons.
#pragma once

#include <string>

#include "coordinator/core/cluster_state.h"

namespace accel::scenarios {

// Returns a text that is equal for two states if the same follows from them once all nodes have
// reported again. It leaves out what differs after a recovery (coordinator/core/recover.h):
// reports, sessions, revisions, released sockets, and start deadlines, which a recovery extends.
std::string DescribeStored(const coordinator::ClusterState& state);

}  // namespace accel::scenarios
