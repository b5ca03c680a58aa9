// Decides whether a job runs on GPUs. This is decided once (docs/decisions/0023), so that a job
// that lost its GPU node waits for another one instead of continuing, many times slower, on CPUs.
#pragma once

#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// What the spec asks for: CPUs for `cpu`, GPUs if it names some; otherwise GPUs as soon as a node
// with one has been seen. Unspecified: not decided yet.
v1::Devices DecideDevices(const v1::JobSpec& spec, const ClusterState& state);

// What the job would be placed on now: as it was decided; if it was not, as it would be now.
v1::Devices DevicesOf(const v1::Job& job, const ClusterState& state);

}  // namespace accel::coordinator
