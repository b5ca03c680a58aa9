// Decides the next transition of one job. job_state.h draws the phases. step.cc explains the order
// of the decisions.
#pragma once

#include <optional>

#include "coordinator/core/action.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Returns the next action for `job`, or nullopt if it needs none now. If nullopt, lowers *wake_at
// to the time at which the job may need an action even without an event. Returns nullopt for a
// PENDING job that waits for a place, because the queue decides about it (queue.h).
std::optional<Action> NextStep(const ClusterState& state, const JobEntry& job, absl::Time now,
                               absl::Time* wake_at);

}  // namespace accel::coordinator
