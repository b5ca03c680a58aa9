// The back-off of a job that fails repeatedly: how long it waits before it is started again.
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Returns the pause after this many early failures in a row (FailureHistory::quick). There is none
// after the first. From the second on it is first_restart_pause, doubled each time, up to
// longest_restart_pause.
//
// Up to restart_jitter of the pause is added, so that a thousand jobs that failed together, because
// a file system was away, do not come back together. The addition depends on the job and the number
// alone, so the function remains pure.
absl::Duration RestartPause(const Limits& limits, const common::JobId& job, int quick_failures);

}  // namespace accel::coordinator
