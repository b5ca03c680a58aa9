// Keeps ClusterState::waiting up to date.
#pragma once

#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Moves the job to where it belongs now: into a line, to the growable jobs, or out. Called after
// each change of the job's phase or placements.
void SortWaiting(const JobEntry& entry, ClusterState* state);

// Returns the waiting jobs, as lines that remember nothing about reasons.
WaitingJobs FindWaiting(const ClusterState& state);

}  // namespace accel::coordinator
