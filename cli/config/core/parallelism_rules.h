// The rules of the sizes below parallelism_config. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "cli/config/core/effective_settings.h"

namespace accel::cli {

// Checks what each worker would refuse. `processes` is their number on all machines; if it is
// nullopt, it is not known yet. INVALID_ARGUMENT: a size is below 1, two kinds of parallelism
// exclude each other, or the product of the sizes is not the number of processes.
absl::Status CheckParallelism(const EffectiveSettings& settings, std::optional<int64_t> processes);

}  // namespace accel::cli
