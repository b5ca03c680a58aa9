// Plans a launch from its flags, its configuration file and this machine.
#pragma once

#include "absl/status/statusor.h"
#include "cli/config/core/effective_settings.h"
#include "cli/config/core/launch_plan.h"
#include "cli/launch_flags.h"
#include "cli/program.h"

namespace accel::cli {

// Returns the settings of a launch. INVALID_ARGUMENT: the file is wrong or missing.
absl::StatusOr<EffectiveSettings> SettingsOf(const LaunchFlags& flags,
                                             const CallerContext& context);

// INVALID_ARGUMENT: as of SettingsOf() and PlanLaunch(), or the settings ask for a launcher that
// accel does not start.
absl::StatusOr<LaunchPlan> PlanFor(const LaunchFlags& flags, const CallerContext& context);

}  // namespace accel::cli
