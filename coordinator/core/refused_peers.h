// Notes how many strangers have connected to the store of a job, for `accel status`.
#pragma once

#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Copies the numbers of refused connections in the report into the records of current generations.
// A number only rises. Each change is stored, because it may explain a later failure.
void NoteRefusedPeers(const v1::NodeObserved& report, ClusterState* state, Changes* changes);

}  // namespace accel::coordinator
