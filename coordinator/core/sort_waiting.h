// Keeps ClusterState::waiting up to date. The planner itself notes there what reasons say.
#pragma once

#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Moves the job to where it belongs now: into a line, to the growable jobs, or out. Called after
// each change of the job's phase or placements. A change of
// ClusterState::gpus_seen moves jobs to the other line, so all are then sorted again.
void SortWaiting(const JobEntry& entry, ClusterState* state);

// Returns the waiting jobs, as lines that remember nothing about reasons.
WaitingJobs FindWaiting(const ClusterState& state);

}  // namespace accel::coordinator
