// Decides which job is placed next. First come, first served, in two queues (docs/decisions/0011):
// jobs that need GPUs wait for each other, and so do CPU jobs. A job that would not fit even if
// nothing else ran waits for nodes and holds up nobody.
#pragma once

#include <vector>

#include "coordinator/core/action.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// `queue`: the PENDING jobs to be placed, oldest first. Appends a StartGeneration for each that is
// placed, an Explain for each whose reason to wait is another one, and, in a cluster of fixed size,
// an EndUnplaced for what never fits. Lowers *wake_at to when there may be more room without an
// event.
void PlanQueue(const ClusterState& state, const std::vector<common::JobId>& queue, absl::Time now,
               std::vector<Action>* actions, absl::Time* wake_at);

}  // namespace accel::coordinator
