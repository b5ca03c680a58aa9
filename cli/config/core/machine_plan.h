// The machines of a plan, and the number of processes on each of them.
#pragma once

#include "absl/status/status.h"
#include "cli/config/core/launch_plan.h"

namespace accel::cli {

// Returns true if the settings ask for a job on CPUs, even on a machine with GPUs. `nproc_per_node:
// cpu` asks for such a job, unless another setting asks for GPUs.
bool IsCpuJob(const EffectiveSettings& settings);

// Fills in the machines, their processes, and whether a coordinator gets the job. Adds the notes of
// NotesOnAddresses(). Errors are those of PlanLaunch().
absl::Status PlanMachines(const EffectiveSettings& settings, const HostFacts& host,
                          LaunchPlan* plan);

}  // namespace accel::cli
