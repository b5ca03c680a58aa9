// `accel launch`: runs one job on a coordinator and an agent inside this process.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/launch_flags.h"

namespace accel::cli {

// Runs the job to its end, relays its output, and returns the exit code (docs/exit-codes.md).
int RunLaunch(const std::vector<std::string>& args, const Console& console);

// Runs a launch as RunLaunch() does, from parsed flags.
int LaunchJob(const LaunchFlags& flags, const Console& console);

}  // namespace accel::cli
