// Counts the parts of jobs (part_counts.h), and decides from the counts whether a job may
// need a step.
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Looks at all parts of a job that holds nodes, and returns their counts.
PartCounts CountParts(const ClusterState& state, const JobEntry& job, absl::Time now);

// Counts the parts of all jobs on a node again, because the node's report has changed. Puts jobs
// that may need a step on the agenda. Wakes each job at the time at which the node would
// count as silent.
void CountReport(const NodeEntry& node, absl::Time now, ClusterState* state);

}  // namespace accel::coordinator
