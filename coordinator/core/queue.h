// Decides which job is placed next: first come, first served, in two lines (docs/decisions/0011).
// One line has the jobs that need GPUs, the other the CPU jobs. A job that waits for other jobs to
// end blocks the jobs behind it, so that small jobs cannot starve a large one. A job that would not
// fit even if nothing else ran blocks no job.
#pragma once

#include <set>
#include <vector>

#include "coordinator/core/action.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/core/ledger.h"
#include "coordinator/core/waiting_jobs.h"

namespace accel::coordinator {

// The results of a pass over the queue, apart from its actions.
struct QueuePass {
  // The new reasons for jobs of each line.
  std::vector<GroupNews> gpu_news;
  std::vector<GroupNews> cpu_news;
  bool blocked = false;  // A job waits for others to end.
};

// Plans the jobs in the two lines of `waiting`, oldest first, with the resources in the ledger.
// Leaves out the jobs in `stepping`. Appends a StartGeneration for each job that is placed, and an
// Explain for each job whose reason to wait has changed. In a cluster of fixed size, appends an
// EndUnplaced for each job that can never fit.
QueuePass PlanQueue(const ClusterState& state, const WaitingJobs& waiting,
                    const std::set<common::JobId>& stepping, Ledger* ledger,
                    std::vector<Action>* actions);

}  // namespace accel::coordinator
