// The graces of a job: the times from SIGTERM to SIGKILL that its spec asks for, or else the
// coordinator's defaults.
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Returns the grace after a rank has failed.
absl::Duration FailureGrace(const Limits& limits, const v1::JobSpec& spec);

// Returns the grace whenever the job is stopped for another reason.
absl::Duration StopGrace(const Limits& limits, const v1::JobSpec& spec);

}  // namespace accel::coordinator
