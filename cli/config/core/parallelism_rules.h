// The rules for the sizes in the section parallelism_config. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "cli/config/core/effective_settings.h"

namespace accel::cli {

// Checks for sizes that each worker would refuse. `processes` is the number of processes on all
// machines, or nullopt if it is not known yet. INVALID_ARGUMENT: a size is not from 1 to 10
// million, two kinds of parallelism exclude each other, or the product of the sizes is neither 1
// nor the number of processes.
absl::Status CheckParallelism(const EffectiveSettings& settings, std::optional<int64_t> processes);

}  // namespace accel::cli
