// Writes events from outside into the state: submits, cancels and nodes' reports.
// Nothing here decides what follows from them, because that is the planner's task.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Adds a PENDING job and returns its id. A repeated submit_id returns the job that it made the
// first time, so that a client can repeat a submit whose answer was lost. `wall` is the time of the
// submit.
// INVALID_ARGUMENT: the spec or the submit id is invalid; the message names the field.
// RESOURCE_EXHAUSTED: the queue or the memory for jobs is full.
absl::StatusOr<common::JobId> SubmitJob(const std::string& submit_id, v1::JobSpec spec,
                                        absl::Time wall, ClusterState* state, Changes* changes);

// Asks for a job to be cancelled. The planner acts on it. `at_once`: the processes get no grace.
// Has no effect on a finished job. NOT_FOUND: there is no such job.
absl::Status CancelJob(const common::JobId& id, bool at_once, ClusterState* state,
                       Changes* changes);

// Drains a node, which is named by its name or its id, or ends that (docs/decisions/0043).
// NOT_FOUND: there is no such node. INVALID_ARGUMENT: `drain` has no meaning.
absl::Status DrainNode(const std::string& node, v1::Drain drain, ClusterState* state,
                       Changes* changes);

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
