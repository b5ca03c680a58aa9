// How long a job that fails again and again waits before it starts again.
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// After this many failures in a row of generations that were soon over. After the first: none, so
// that whoever lost a node is back at once. Then first_restart_pause, twice as long each time, up
// to longest_restart_pause.
absl::Duration RestartPause(const Limits& limits, int quick_failures);

// The number of failures in a row that the end of a generation makes, which began at `started`: a
// generation that lasted for steady_after begins a new row.
int CountQuickFailure(const Limits& limits, int before, absl::Time started, absl::Time now);

}  // namespace accel::coordinator
