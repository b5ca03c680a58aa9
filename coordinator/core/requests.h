// Writes into the state what clients ask for: submits, cancels and drains. Nothing here decides
// what follows from them, because that is the planner's task.
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
// RESOURCE_EXHAUSTED: the queue or the memory for jobs is full. The last tenth of the queue is only
// for users who have less than a hundredth of it, so that no user fills it alone
// (docs/decisions/0081).
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

}  // namespace accel::coordinator
