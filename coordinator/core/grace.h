// The graces and the start deadline of a job that its spec asks for, or else the defaults of Limits
// (cluster_state.h). A grace is the time from SIGTERM to SIGKILL. The shim counts it
// (shim/generation_processes.cc).
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

// Returns how long all ranks of a generation may need to start.
absl::Duration StartDeadline(const Limits& limits, const v1::JobSpec& spec);

}  // namespace accel::coordinator
