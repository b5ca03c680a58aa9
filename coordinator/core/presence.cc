#include "coordinator/core/presence.h"

namespace accel::coordinator {

absl::Duration LongestWait(const Limits& limits) { return limits.node_timeout / 8; }

absl::Duration Listen(absl::Time now, ClusterState* state) {
  const absl::Duration gap = now - state->listened_at;
  state->listened_at = now;
  if (gap <= 2 * LongestWait(state->limits)) return absl::ZeroDuration();
  state->present_since = now;
  for (const common::JobId& id : state->unfinished.ids()) state->jobs.at(id).start_by += gap;
  // Nodes that were silent for too long get more time, so everything must be looked at again.
  TouchAll(state);
  return gap;
}

}  // namespace accel::coordinator
