// Counts the parts of jobs (part_counts.h), and tells from the counts whether a job may need a
// step.
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Returns the counts of a job that holds nodes, from a look at all of its parts.
PartCounts CountParts(const ClusterState& state, const JobEntry& job, absl::Time now);

// Counts the parts of all jobs on a node again, because the node's report has changed. Touches the
// jobs that may need a step, and wakes each when the node would count as silent.
void CountReport(const NodeEntry& node, absl::Time now, ClusterState* state);

}  // namespace accel::coordinator
