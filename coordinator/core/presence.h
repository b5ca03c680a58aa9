// Detects absences of the coordinator itself: it was stopped, starved of CPU, waiting for a commit,
// or not yet started. It read no reports then, so that time does not count as silence of a node. A
// coordinator that was stopped for a while would otherwise lose all its nodes.
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Returns the longest time that the coordinator may wait before it calls Listen() again. A gap of
// more than twice this time is an absence. The time grows with NodeTimeout(), because work that
// takes longer with more nodes, such as the start of a job on all of them, is no absence.
absl::Duration LongestWait(const ClusterState& state);

// Notes that the coordinator reads its nodes' reports at `now`. Returns the length of the absence
// that ends now, or zero if there was none. After an absence, a node that does not connect again
// counts as silent only after longest_reconnect plus NodeTimeout(). The start deadlines of all
// unfinished jobs move by each gap of more than a quarter of Limits::node_timeout, whether it is an
// absence or not.
absl::Duration Listen(absl::Time now, ClusterState* state);

}  // namespace accel::coordinator
