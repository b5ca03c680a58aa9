// What `accel nodes` shows.
#pragma once

#include <map>

#include "absl/time/time.h"
#include "coordinator/coordinator.h"
#include "coordinator/core/cluster_state.h"
#include "proto/service.pb.h"

namespace accel::coordinator {

// What the nodes say of themselves, and what of them the jobs hold, as these are committed.
v1::ListNodesResponse DescribeNodes(const ClusterState& state,
                                    const std::map<common::JobId, JobPtr>& jobs, absl::Time now);

}  // namespace accel::coordinator
