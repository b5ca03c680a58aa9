// Decides the next transition of one job. job_state.h draws the phases. step.cc explains the order
// of the decisions.
#pragma once

#include <optional>

#include "coordinator/core/action.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// What a look at one job has found.
struct Look {
  // What follows now. nullopt for a PENDING job that waits for a place, because the queue decides
  // about it (queue.h).
  std::optional<Action> step;
  // When the job may need an action even without an event. InfiniteFuture if there is a step.
  absl::Time wake_at = absl::InfiniteFuture();
  // The counts of the job's parts. Unknown if there is a step, or if the job holds no nodes.
  PartCounts counts;
};

// Looks at a job whose phase is not final.
Look LookAtJob(const ClusterState& state, const JobEntry& job, absl::Time now);

}  // namespace accel::coordinator
