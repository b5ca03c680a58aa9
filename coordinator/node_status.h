// What `accel nodes` shows.
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"
#include "proto/service.pb.h"

namespace accel {

v1::ListNodesResponse DescribeNodes(const ClusterState& state, absl::Time now);

}  // namespace accel
