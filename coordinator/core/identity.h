// Decides which agent may be a node. Ids and names of nodes are unique in a cluster, but agents may
// send duplicates: state directories are copied with machine images (docs/decisions/0026), and
// operators give one name to two nodes.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Checks whether the agent that sends the first report of a session may have the id and the name in
// it. The agent that had them before may always have them, over a new stream too. Another agent may
// have them immediately if the former agent's stream is closed and both agents ran on one machine,
// because then the agent or the machine was restarted. The same boot id or the same address shows
// that, because no copy on another machine has either. Otherwise it may have them once the former
// agent has been silent for too long (SilentFrom()).
// FAILED_PRECONDITION: not now. The message says which agent has the id or the name, and what to
// do.
absl::Status CheckIdentity(const ClusterState& state, const v1::NodeObserved& report,
                           absl::Time now);

}  // namespace accel::coordinator
