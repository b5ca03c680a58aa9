// Runs the part of the serving machine in a launch over several machines.
#pragma once

#include "absl/status/statusor.h"
#include "cli/machines/launch_machines.h"
#include "cli/machines/meet.h"

namespace accel::cli {

// `part` must have a listener. Results and errors are those of LaunchOnMachines().
absl::StatusOr<int> ServeLaunch(const MachinesLaunch& launch, Part part, const std::string& secret,
                                const Workplace& workplace, const Console& console);

}  // namespace accel::cli
