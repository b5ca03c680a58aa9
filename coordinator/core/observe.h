// Writes reports of nodes, and the ends of their streams, into the state. Nothing here decides what
// follows, because the planner does.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/core/node_report.h"

namespace accel::coordinator {

// Replaces the newest report of a node by `report`, which came over `session`. The first report of
// a session binds the session to the node and takes the node over from an older session.
// *superseded is then the older session, or 0 if there is none.
//
// The first report of a session must have the node's description.
//
// Refuses or ignores what has an older incarnation, session, sequence or generation, and counts it
// (invariant 5). Returns OK for a report that is out of sequence, which has no effect. Reports of a
// closed session never arrive here, because Sessions::Report() drops and counts them. After an
// error, the caller must close the session. Errors:
//
// * INVALID_ARGUMENT: a field is invalid, or the report contradicts the session or the state.
// * ALREADY_EXISTS: a newer session has taken the node over.
// * FAILED_PRECONDITION: another agent that is alive has the node's id or name (identity.h).
// * RESOURCE_EXHAUSTED: a bound is exceeded. The message names the bound.
absl::Status Observe(SessionId session, NodeReport report, absl::Time now, ClusterState* state,
                     Changes* changes, SessionId* superseded);

// Notes that the stream is closed. The node counts as lost only once it has been silent for too
// long, because most agents reconnect.
void CloseSession(SessionId session, const common::NodeId& node, ClusterState* state);

// Notes that the node no longer belongs to the cluster. `why` completes a sentence that begins with
// "it". The generations on the node are lost immediately, and the node is given up (silence.h).
// Does nothing if there is no such node.
void LoseNode(const common::NodeId& node, const std::string& why, ClusterState* state,
              Changes* changes);

}  // namespace accel::coordinator
