// Writes requests of clients into the state: submits, cancels and drains. Nothing here decides what
// follows, because the planner does.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Adds a PENDING job and returns its id. A repeated submit_id returns the job that the first submit
// made, so that a client can repeat a submit whose answer was lost. `wall` is the time of
// the submit. Errors:
//
// * INVALID_ARGUMENT: the spec or the submit id is invalid. The message names the field.
// * RESOURCE_EXHAUSTED: the queue or the memory for jobs is full. The last tenth of the queue is
//   only for users who have less than a hundredth of it, and for the owner. So no user fills
//   it alone (docs/decisions/0081).
absl::StatusOr<common::JobId> SubmitJob(const std::string& submit_id, v1::JobSpec spec,
                                        absl::Time wall, ClusterState* state, Changes* changes);

// Takes back a job whose submit is refused because it could not be stored. Otherwise it would run
// later, next to the one that its user submits again. It ends without a start, and another job can
// have its submit id. Does nothing if it was taken back before.
void TakeBack(const common::JobId& id, ClusterState* state);

// Asks the planner to cancel a job. `at_once` gives its processes no grace. Has no effect on a
// finished job. NOT_FOUND: there is no such job.
absl::Status CancelJob(const common::JobId& id, bool at_once, ClusterState* state,
                       Changes* changes);

// Drains the node with this name or id, or ends its drain if `drain` is NOT_DRAINED
// (docs/decisions/0043). MOVE_JOBS gives the node up if it is not connected at `now`, even if
// it was drained before (silence.h). NOT_FOUND: there is no such node. INVALID_ARGUMENT: `drain` is
// no value of its enum.
absl::Status DrainNode(const std::string& node, v1::Drain drain, absl::Time now,
                       ClusterState* state, Changes* changes);

}  // namespace accel::coordinator
