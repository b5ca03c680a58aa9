// The coordinator's own presence. Time in which it was away (stopped, starved, waiting for a
// commit, just started) is nobody's silence: the silence of its nodes counts from when it listens.
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// How long the coordinator may wait at most before it looks for news again, so that a longer gap
// shows that it was away.
absl::Duration LongestWait(const Limits& limits);

// The coordinator looks for news at this moment. Returns how long it was away until now; zero: it
// was not. After an absence every node has a full node_timeout on top of longest_reconnect before
// it counts as silent, and starts that were under way get the lost time back.
absl::Duration Listen(absl::Time now, ClusterState* state);

}  // namespace accel::coordinator
