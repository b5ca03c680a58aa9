// Notes how many strangers have connected to a job's store, so that `accel status` shows it.
#pragma once

#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Takes the numbers that the report has for current generations into their records. A number only
// grows. Each change is stored, because it explains a failure that follows it.
void NoteRefusedPeers(const v1::NodeObserved& report, ClusterState* state, Changes* changes);

}  // namespace accel::coordinator
