// The back-off of a job that fails repeatedly: the time that it waits before it is started again.
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Returns the pause after this many early failures in a row (FailureHistory::quick). There is no
// pause after the first failure. After the second it is first_restart_pause, and it doubles with
// each further failure, up to longest_restart_pause.
//
// Up to restart_jitter of the pause is added. A thousand jobs that failed together, for example
// because a file system was away, therefore do not start together. The addition depends only on the
// job and the number of failures, so the function remains pure.
absl::Duration RestartPause(const Limits& limits, const common::JobId& job, int quick_failures);

}  // namespace accel::coordinator
