// Decides which job is placed next: first come, first served, in two queues (docs/decisions/0011).
// One queue has the jobs that need GPUs, the other the CPU jobs. A job that waits for other jobs to
// end blocks the jobs behind it, so that small jobs cannot starve a large one. A job that would not
// fit even if nothing else ran blocks no job.
#pragma once

#include <vector>

#include "coordinator/core/action.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/core/ledger.h"

namespace accel::coordinator {

// Plans the PENDING jobs in `queue`, oldest first, with the resources in the ledger. Appends a
// StartGeneration for each job that is placed, and an Explain for each job whose reason to wait has
// changed. In a cluster of fixed size, appends an EndUnplaced for each job that can never fit.
// Returns true if a job waits for others to end.
bool PlanQueue(const ClusterState& state, const std::vector<const JobEntry*>& queue, Ledger* ledger,
               std::vector<Action>* actions);

}  // namespace accel::coordinator
