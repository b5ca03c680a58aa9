// Settings that contradict each other or this machine, in addition to the rules of one kind of
// training (fsdp_rules.h, parallelism_rules.h).
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/config/core/launch_plan.h"

namespace accel::cli {

// Checks settings after PlanWorld(). INVALID_ARGUMENT: two of them exclude each other, or they need
// a GPU and this machine, on which the job would run, is known to have none.
absl::Status CheckContradictions(const EffectiveSettings& settings, const HostFacts& host,
                                 const LaunchPlan& plan);

// Returns the configuration file that deepspeed_config_file names, or an empty text if there is
// none. Accelerate's questionnaire writes "none" for that.
std::string DeepSpeedFile(const EffectiveSettings& settings);

// Returns a sentence for each flag of DeepSpeed's own launcher that has no effect on one machine.
// Keys of a file are not named, because Accelerate's questionnaire writes them.
std::vector<std::string> NotesOnDeepSpeedLauncher(const EffectiveSettings& settings,
                                                  const LaunchPlan& plan);

}  // namespace accel::cli
