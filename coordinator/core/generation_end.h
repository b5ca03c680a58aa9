// Decides what becomes of a job when its stopped generation has no process left: its next phase,
// its exit code, and the pause before a restart. step.cc decides when that is.
#pragma once

#include <vector>

#include "coordinator/core/action.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/core/part.h"

namespace accel::coordinator {

// Returns the end of the current generation of a job that is STOPPING. `parts` are those of this
// generation. None may have processes, and the budget of the stop must be spent already.
EndGeneration EndOfGeneration(const Limits& limits, const JobEntry& entry,
                              const std::vector<Part>& parts);

}  // namespace accel::coordinator
