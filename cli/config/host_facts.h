// Reads the facts about this machine that a plan depends on.
#pragma once

#include "cli/config/core/launch_plan.h"
#include "cli/program.h"

namespace accel::cli {

// Returns the facts about this machine. Facts that only Python could find out remain unknown. If
// `with_gpus`, counts GPUs through the driver, which takes tens of milliseconds. Otherwise the
// number of GPUs remains unknown.
HostFacts ReadHostFacts(const CallerContext& context, bool with_gpus);

// Returns the number of physical cores that are online according to `folder`, which has the layout
// of /sys/devices/system/cpu, or 0 if it cannot be read.
int CountPhysicalCores(const std::string& folder);

}  // namespace accel::cli
