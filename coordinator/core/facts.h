// What comes in from outside, written into the state. Nothing here decides what follows: the
// planner does.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// A repeated submit_id returns the job that it made. `wall` is the moment of the submit.
// INVALID_ARGUMENT: the spec or the submit id, with the field. RESOURCE_EXHAUSTED: a bound of the
// queue.
absl::StatusOr<common::JobId> SubmitJob(const std::string& submit_id, v1::JobSpec spec,
                                        absl::Time wall, ClusterState* state, Changes* changes);

// Of a finished job it changes nothing. NOT_FOUND: no such job.
absl::Status CancelJob(const common::JobId& id, bool at_once, ClusterState* state);

// Takes up a job that an earlier coordinator stored. Its generation, if it holds one, is asked for
// anew.
void RestoreJob(v1::Job job, absl::Time now, ClusterState* state);

// After all jobs are restored: brings the finished ones into the order in which they ended.
void SortFinished(ClusterState* state);

// A report that came over this session. The first report of a session binds it to its node and
// takes the node over from an older session, which *superseded then names (0: none). This is the
// one place that refuses what is stamped with an older incarnation, session, sequence or
// generation, and counts it. INVALID_ARGUMENT: the report contradicts itself, its session, or what
// was ever asked for. ALREADY_EXISTS: a newer session has taken the node over. FAILED_PRECONDITION:
// another agent that is alive has the node's id or name (identity.h). RESOURCE_EXHAUSTED: a bound,
// which it names. After an error the session is to be closed. A report that is out of sequence is
// OK and has no effect.
absl::Status Observe(SessionId session, v1::NodeObserved report, absl::Time now,
                     ClusterState* state, Changes* changes, SessionId* superseded);

// The stream is gone. The node is lost only once it has been silent for too long.
void CloseSession(SessionId session, const common::NodeId& node, ClusterState* state);

}  // namespace accel::coordinator
