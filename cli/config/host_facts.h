// Reads the facts about this machine that a plan depends on.
#pragma once

#include "cli/config/core/launch_plan.h"
#include "cli/program.h"

namespace accel::cli {

// Counts GPUs through the driver, and physical cores. What takes a Python to find out stays
// unknown.
HostFacts ReadHostFacts(const CallerContext& context);

// Returns the number of physical cores according to `folder`, which has the layout of
// /sys/devices/system/cpu, or 0 if it cannot be read.
int CountPhysicalCores(const std::string& folder);

}  // namespace accel::cli
