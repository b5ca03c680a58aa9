// The graces of a job: the times from SIGTERM to SIGKILL that its spec asks for, or else the
// coordinator's defaults.
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Returns the grace after a rank has failed, and after the end of the other ranks. A lost node
// leaves none to the ranks of other nodes: GraceAfter() in step.cc.
absl::Duration FailureGrace(const Limits& limits, const v1::JobSpec& spec);

// Returns the grace if the job is stopped because a person or a rule wants it: a cancel, the time
// limit, a drain, or growth.
absl::Duration StopGrace(const Limits& limits, const v1::JobSpec& spec);

}  // namespace accel::coordinator
