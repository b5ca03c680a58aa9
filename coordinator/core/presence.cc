#include "coordinator/core/presence.h"

namespace accel::coordinator {

absl::Duration LongestWait(const ClusterState& state) { return NodeTimeout(state) / 8; }

absl::Duration Listen(absl::Time now, ClusterState* state) {
  const absl::Duration gap = now - state->listened_at;
  state->listened_at = now;
  if (gap <= state->limits.node_timeout / 4) return absl::ZeroDuration();
  // The deadline of a start does not grow with the number of nodes.
  for (const common::JobId& id : state->unfinished.ids()) state->jobs.at(id).start_by += gap;
  if (gap <= 2 * LongestWait(*state)) return absl::ZeroDuration();
  state->present_since = now;
  // Nodes that were silent for too long get more time, so everything must be looked at again.
  TouchAll(state);
  return gap;
}

}  // namespace accel::coordinator
