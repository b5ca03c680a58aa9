// The next step of one job's life, as job_state.h draws it.
#pragma once

#include <optional>

#include "coordinator/core/action.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// None: the job stays as it is; then *wake_at is lowered to the moment at which it may have to move
// without an event. A PENDING job that is to be placed stays here: the queue decides about it.
std::optional<Action> NextStep(const ClusterState& state, const JobEntry& job, absl::Time now,
                               absl::Time* wake_at);

}  // namespace accel::coordinator
