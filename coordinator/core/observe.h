// Writes into the state what the coordinator hears from nodes, and that it no longer hears one.
// Nothing here decides what follows, because that is the planner's task.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Replaces the newest report of a node by `report`, which came over this session. The first report
// of a session binds the session to its node. The session takes the node over from an older one,
// which *superseded then names (0 if there is none).
//
// Refuses or ignores what has an older incarnation, session, sequence or generation, and counts it
// (invariant 5). A report that is out of sequence is OK and has no effect. Reports of a closed
// session never get here, because Sessions::Report() drops and counts them. After an error the
// caller must close the session. Errors:
//
// * INVALID_ARGUMENT: the report contradicts itself, its session, or what was ever asked for.
// * ALREADY_EXISTS: a newer session has taken the node over.
// * FAILED_PRECONDITION: another agent that is alive has the node's id or name (identity.h).
// * RESOURCE_EXHAUSTED: a bound is exceeded; the message names the bound.
absl::Status Observe(SessionId session, v1::NodeObserved report, absl::Time now,
                     ClusterState* state, Changes* changes, SessionId* superseded);

// Notes that the stream is closed. The node counts as lost only once it has been silent for too
// long, because most agents reconnect.
void CloseSession(SessionId session, const common::NodeId& node, ClusterState* state);

// Notes that the node no longer belongs to the cluster, for a reason that completes "it ...". What
// it runs is lost at once. Does nothing if there is no such node.
void LoseNode(const common::NodeId& node, const std::string& why, ClusterState* state);

}  // namespace accel::coordinator
