// The rules about several of FSDP's settings together.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/config/core/effective_settings.h"

namespace accel::cli {

// Checks for settings that each worker would refuse without naming the key. INVALID_ARGUMENT: FSDP
// refuses the settings; the message has their place.
absl::Status CheckFsdp(const EffectiveSettings& settings);

// Returns a sentence for each given setting that has no effect in this version of FSDP.
std::vector<std::string> FsdpNotes(const EffectiveSettings& settings);

// Returns the sharding strategy of version 1. Accelerate's questionnaire writes it as
// fsdp_reshard_after_forward, which Accelerate's launcher then ignores.
std::string FsdpStrategy(const EffectiveSettings& settings);

}  // namespace accel::cli
