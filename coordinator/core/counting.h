// Counts the parts of jobs (part_counts.h), and decides from the counts whether a job may
// need a step.
#pragma once

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/core/part.h"

namespace accel::coordinator {

// How long the parts of a job must be unchanged until its reason names the nodes that it waits for.
// The last nodes of a job usually start together. A reason for each of them would be a version of
// the job that is stored and sent, and nobody would have the time to read it.
inline constexpr absl::Duration kExplainAfter = absl::Milliseconds(100);

// Returns the counts of all parts of a job.
PartCounts CountParts(const JobEntry& job, absl::Span<const Part> parts, absl::Time now);

// Sets the counts of a generation that was just placed: none of its parts has started, and each may
// have processes from now on.
void CountPlaced(JobEntry* entry);

// Returns true if the counts, which must be known, say that LookAtJob() may return a step now that
// changes more than the reason. Also returns true if a part is silent, because the reason must
// change when it is heard again. Other causes of a step are requests and time.
bool MayStep(const JobEntry& entry);

// Counts the parts of all jobs on a node again, because the node's report has changed. Puts jobs
// that may need a step on the agenda, and after a moment without a change those that need only
// another reason. Wakes each job at the time at which the node would count as silent.
void CountReport(const NodeEntry& node, absl::Time now, ClusterState* state);

}  // namespace accel::coordinator
