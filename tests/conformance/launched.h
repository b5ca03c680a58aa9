// One recorded launch, taken through all of accel's parts that need no process: the flags, the
// file, the plan, the program, and the layers of common/worker_env.h.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/config/core/launch_plan.h"

namespace accel::cli {

using Env = std::map<std::string, std::string>;

struct Launched {
  absl::Status status;  // The error of the first part that refuses the launch.
  LaunchPlan plan;
  Env env;  // What a worker of this machine gets, over the environment of the launch.
  std::vector<std::string> command;  // As upstream would write it.
  std::string notes;                 // One on each line.

  // Returns a variable, or an empty text if it is not set.
  std::string Get(const std::string& name) const {
    const auto found = env.find(name);
    return found == env.end() ? "" : found->second;
  }
  // Returns the number of processes on all machines.
  int64_t Total() const {
    int64_t total = 0;
    for (int processes : plan.processes) total += processes;
    return total;
  }
};

// Launches with the parameters of a golden case.
Launched Launch(const nlohmann::json& params);

}  // namespace accel::cli
