// Which agent is a node. Node ids and names are unique, and what agents send is not: state
// directories are copied with machine images, and names are given twice.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Whether the agent that sends the first report of a session may be the node that it says. The
// same agent over a new stream always may. A new agent may at once if the stream of its predecessor
// is closed and both ran since the same boot of one machine: it was started again. Any other may
// once its predecessor has been silent for node_timeout. FAILED_PRECONDITION: not now; says who
// has the id or the name, and what to do.
absl::Status CheckIdentity(const ClusterState& state, const v1::NodeObserved& report,
                           absl::Time now);

}  // namespace accel::coordinator
