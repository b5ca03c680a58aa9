// The text of `accel launch --dry_run` and `accel submit --dry_run`.
#pragma once

#include <string>
#include <vector>

#include "cli/config/core/launch_plan.h"

namespace accel::cli {

// Returns the nodes with their ranks, the command, and the variables of workers. `user_env` has the
// variables of --env and of the caller, which override those of the plan. Pure.
std::string RenderPlan(const LaunchPlan& plan, const std::vector<std::string>& command,
                       const common::EnvList& user_env);

// Returns the facts of RenderPlan() as JSON (docs/json.md).
std::string RenderPlanAsJson(const LaunchPlan& plan, const std::vector<std::string>& command,
                             const common::EnvList& user_env);

}  // namespace accel::cli
