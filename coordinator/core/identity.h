// Decides which agent may have the id and name of a node. Both are unique in a cluster, but agents
// may send duplicates. A state directory may be copied with a machine image (docs/decisions/0026),
// and an operator may give one name to two nodes.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Checks whether the agent that sends the first report of a session may have the id and the name in
// the report. The holder is the agent that had them before. The same agent may always have them
// again, over a new stream too. Another agent may have them in these cases:
//
// * The holder has not reported since this coordinator started.
// * The holder has been silent for too long (SilentFrom()).
// * The holder's stream is closed, and both agents have the same boot id or address. The agent or
//   its machine was then restarted, because a copy on another machine has neither.
//
// FAILED_PRECONDITION: the holder is alive. The message names the holder and what to do.
absl::Status CheckIdentity(const ClusterState& state, const v1::NodeObserved& report,
                           absl::Time now);

}  // namespace accel::coordinator
