// The graces of a job: the times from SIGTERM to SIGKILL that its spec asks for, or else the
// defaults of Limits (cluster_state.h). The shim counts them (shim/generation_processes.cc).
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Returns the grace of a stop after a failure, after the success of all ranks, or before a replan.
// If a node was lost, the ranks on other nodes may get no grace: see GraceAfter() in step.cc.
absl::Duration FailureGrace(const Limits& limits, const v1::JobSpec& spec);

// Returns the grace of a stop that a person or a rule wants: a cancel, the time limit, a
// drain, or growth.
absl::Duration StopGrace(const Limits& limits, const v1::JobSpec& spec);

}  // namespace accel::coordinator
