// Decides the next transition of a job that holds no nodes: it is PENDING, or RESTARTING after a
// failed generation. LookAtJob() in step.h uses it.
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "coordinator/core/action.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Returns the next action for the job, or nullopt if it needs none now. If nullopt, lowers *wake_at
// to the end of the job's pause or to its time limit. Places no job, because the queue does that
// (queue.h).
std::optional<Action> UnplacedStep(const JobEntry& entry, absl::Time now, absl::Time* wake_at);

}  // namespace accel::coordinator
