// Settings that contradict each other or this machine, in addition to the rules of one kind of
// training (fsdp_rules.h, parallelism_rules.h).
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/config/core/launch_plan.h"

namespace accel::cli {

// Checks settings after PlanWorld(). INVALID_ARGUMENT: two settings exclude each other. Or they
// need a GPU, and the job would run on this machine, which is known to have none.
absl::Status CheckContradictions(const EffectiveSettings& settings, const HostFacts& host,
                                 const LaunchPlan& plan);

// Returns the configuration file that deepspeed_config_file names. Returns "" if there is none,
// which Accelerate's questionnaire writes as "none".
std::string DeepSpeedFile(const EffectiveSettings& settings);

// Returns a sentence for each flag of DeepSpeed's own launcher that has no effect on one machine.
// Keys of a file get no sentence, because Accelerate's questionnaire always writes them.
std::vector<std::string> NotesOnDeepSpeedLauncher(const EffectiveSettings& settings,
                                                  const LaunchPlan& plan);

}  // namespace accel::cli
