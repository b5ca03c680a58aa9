// Decides whether a job runs on GPUs. The decision is made once (docs/decisions/0023). A job that
// has lost its GPU node therefore waits for another GPU node, instead of continuing many times
// slower on CPUs.
#pragma once

#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Returns the devices that the spec asks for: CPUs if `cpu` is set, or GPUs if it names some. If it
// does neither, returns GPUs if a node with a GPU has been seen. Otherwise returns
// DEVICES_UNSPECIFIED, and the first placement decides.
v1::Devices DecideDevices(const v1::JobSpec& spec, const ClusterState& state);

// Returns the devices on which the job would be placed now: those decided before, or else those
// that a decision now would give. Never returns DEVICES_UNSPECIFIED.
v1::Devices DevicesOf(const v1::Job& job, const ClusterState& state);

}  // namespace accel::coordinator
