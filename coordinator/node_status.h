// The answer to `accel nodes`.
#pragma once

#include <map>

#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/job_versions.h"
#include "proto/service.pb.h"

namespace accel::coordinator {

// Describes each node: its newest report, and the generations and GPUs that the committed `jobs`
// hold on it. Sorted by the node's name, then by its id.
v1::ListNodesResponse DescribeNodes(const ClusterState& state,
                                    const std::map<common::JobId, JobVersions>& jobs,
                                    absl::Time now);

}  // namespace accel::coordinator
