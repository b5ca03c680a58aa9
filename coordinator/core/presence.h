// Detects when the coordinator itself was away: stopped, starved of CPU, waiting for a commit, or
// not yet started. Reports that arrived meanwhile were not read, so a node must not count as silent
// for that time. Without this, a coordinator that was stopped for a while would lose all its nodes.
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Returns the longest time that the coordinator may wait before it calls Listen() again. A gap of
// more than twice this shows that it was away.
absl::Duration LongestWait(const Limits& limits);

// Notes that the coordinator reads its nodes' reports at `now`. Returns how long it was away until
// now, or zero if it was not away. After an absence a node counts as silent only after
// longest_reconnect plus node_timeout, unless it connects again before. Start deadlines are
// extended by the absence.
absl::Duration Listen(absl::Time now, ClusterState* state);

}  // namespace accel::coordinator
