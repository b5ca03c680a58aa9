// Lets elastic jobs grow: a job that runs on fewer nodes than it asks for is started again with
// more, once there are some (docs/decisions/0039).
//
// Shrinking does not wait, because the ranks that a lost node leaves behind can do nothing. Growing
// costs the work since the last checkpoint, so it waits until it is worth that
// (Limits::grow_after): the job must have run for a while, and a node must have been connected for
// a while, because a node that comes and goes would otherwise restart the job each time. Jobs in
// the queue come first.
//
// A job that reports checkpoints is stopped right after one (Limits::fresh_checkpoint), because it
// then loses no work. If none comes for Limits::longest_wait_for_checkpoint, it is stopped anyway:
// the new nodes are idle meanwhile, and SIGTERM with the grace of a cancel lets the program save
// (docs/decisions/0045).
#pragma once

#include <vector>

#include "absl/time/time.h"
#include "coordinator/core/action.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/core/ledger.h"

namespace accel::coordinator {

// Returns true if the job runs on fewer nodes than it asks for, and may be started again for that.
// Lowers *wake_at to the time at which its budget allows more.
bool MayGrow(const ClusterState& state, const JobEntry& entry, absl::Time now, absl::Time* wake_at);

// Appends a StopGeneration for each of these running jobs, oldest first, for which there is more
// room. Each must satisfy MayGrow(). Lowers *wake_at to the time at which a job may be started
// again.
void PlanGrowth(const ClusterState& state, const std::vector<common::JobId>& growable,
                const Ledger& ledger, absl::Time now, std::vector<Action>* actions,
                absl::Time* wake_at);

}  // namespace accel::coordinator
