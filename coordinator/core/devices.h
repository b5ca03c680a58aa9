// Decides whether a job runs on GPUs. This is decided once (docs/decisions/0023), so that a job
// that lost its GPU node waits for another one instead of continuing, many times slower, on CPUs.
#pragma once

#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Returns the devices that the spec asks for: CPUs if `cpu` is set, GPUs if it names some, and
// otherwise GPUs if a node with a GPU has been seen. If none has, returns DEVICES_UNSPECIFIED: the
// first placement decides.
v1::Devices DecideDevices(const v1::JobSpec& spec, const ClusterState& state);

// Returns the devices that the job would be placed on now: those decided before, or else those that
// a decision made now would give. Never DEVICES_UNSPECIFIED.
v1::Devices DevicesOf(const v1::Job& job, const ClusterState& state);

}  // namespace accel::coordinator
