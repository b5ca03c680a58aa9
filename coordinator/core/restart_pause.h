// The back-off of a job that fails repeatedly: how long it waits before it is started again.
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Returns the pause after `quick_failures` early failures in a row. There is none after the first,
// so that a job that lost a node restarts immediately. From the second on it is
// first_restart_pause, doubled each time, up to longest_restart_pause.
absl::Duration RestartPause(const Limits& limits, int quick_failures);

// Returns the number of early failures in a row, now that a generation that started at `started`
// has failed. `before` is the number until now. A generation that lasted for at least steady_after
// starts the count again at 1.
int CountQuickFailure(const Limits& limits, int before, absl::Time started, absl::Time now);

}  // namespace accel::coordinator
