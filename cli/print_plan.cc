#include "cli/print_plan.h"

#include <string>
#include <vector>

#include "cli/config/render_plan.h"
#include "common/worker_env.h"

namespace accel::cli {

void PrintPlan(const LaunchPlan& plan, const v1::JobSpec& spec, bool json, const Console& console) {
  common::EnvList env;
  for (const v1::EnvVar& variable : spec.env()) env.emplace_back(variable.name(), variable.value());
  const std::vector<std::string> command(spec.argv().begin(), spec.argv().end());
  console.out << (json ? RenderPlanAsJson(plan, command, env) + "\n"
                       : RenderPlan(plan, command, env));
}

}  // namespace accel::cli
