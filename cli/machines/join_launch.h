// Runs the part of this machine in a launch that another machine serves.
#pragma once

#include "absl/status/statusor.h"
#include "cli/machines/launch_machines.h"
#include "cli/machines/launch_secret.h"
#include "cli/machines/meet.h"

namespace accel::cli {

// Results and errors are those of LaunchOnMachines().
absl::StatusOr<int> JoinLaunch(const MachinesLaunch& launch, const Part& part,
                               const LaunchSecret& secret, const Workplace& workplace,
                               const Console& console);

}  // namespace accel::cli
