// The part of the machine that serves a launch over several machines.
#pragma once

#include "absl/status/statusor.h"
#include "cli/machines/launch_machines.h"
#include "cli/machines/meet.h"

namespace accel::cli {

// `part` has a listener. Returns and errors are those of LaunchOnMachines().
absl::StatusOr<int> ServeLaunch(const MachinesLaunch& launch, Part part, const std::string& secret,
                                const Workplace& workplace, const Console& console);

}  // namespace accel::cli
