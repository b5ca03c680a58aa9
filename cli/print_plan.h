#pragma once

#include "cli/config/core/launch_plan.h"
#include "cli/console.h"
#include "proto/job.pb.h"

namespace accel::cli {

// Prints the text of --dry_run: the plan, with the command and the variables of `spec`.
void PrintPlan(const LaunchPlan& plan, const v1::JobSpec& spec, bool json, const Console& console);

}  // namespace accel::cli
