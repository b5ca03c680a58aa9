// Lets elastic jobs grow. A job that runs on fewer nodes than it asks for is started again on more
// nodes, once there is room (docs/decisions/0039).
//
// Shrinking does not wait, because the ranks that a lost node leaves behind can do nothing. Growing
// costs the work since the last checkpoint. It therefore waits until the job has run, and a node
// has been connected, for Limits::grow_after. A node that comes and goes would otherwise restart
// the job each time. Jobs in the queue come first.
//
// A job that reports checkpoints is stopped right after a checkpoint (Limits::fresh_checkpoint),
// because it then loses no work. If no checkpoint comes within Limits::longest_wait_for_checkpoint,
// the job is stopped anyway. The new nodes would otherwise remain idle, and the grace after SIGTERM
// lets the program save (docs/decisions/0045).
#pragma once

#include <vector>

#include "absl/time/time.h"
#include "coordinator/core/action.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/core/ledger.h"

namespace accel::coordinator {

// Returns true if the job is RUNNING on fewer nodes than it asks for, and half of its budget of
// membership changes is not spent. If only the budget forbids growth, lowers *wake_at to the time
// at which the budget allows it.
bool MayGrow(const ClusterState& state, const JobEntry& entry, absl::Time now, absl::Time* wake_at);

// Appends a StopGeneration for each job in `growable`, oldest first, that has room on more nodes.
// Each job must satisfy MayGrow(). Lowers *wake_at to the time at which a job may be
// stopped to grow.
void PlanGrowth(const ClusterState& state, const std::vector<const JobEntry*>& growable,
                const Ledger& ledger, absl::Time now, std::vector<Action>* actions,
                absl::Time* wake_at);

}  // namespace accel::coordinator
