// Plans a launch from its flags, its configuration file and this machine.
#pragma once

#include "absl/status/statusor.h"
#include "cli/config/core/effective_settings.h"
#include "cli/config/core/launch_plan.h"
#include "cli/launch_flags.h"
#include "cli/program.h"

namespace accel::cli {

// Returns the settings of a launch. A launch for a calling program (--end_file, --parent) and one
// of `accel test` ignore the file's coordinator and run on one machine, unless a flag says another
// number. INVALID_ARGUMENT: the file is wrong or missing.
absl::StatusOr<EffectiveSettings> SettingsOf(const LaunchFlags& flags,
                                             const CallerContext& context);

// Checks what PlanLaunch() allows and `accel launch` does not do. INVALID_ARGUMENT: the settings
// ask for a launcher that accel does not start, for a coordinator or for several machines with a
// wrong address or without one, or for the part of one machine of a cluster's job.
absl::Status CheckLaunch(const EffectiveSettings& settings, const LaunchPlan& plan,
                         const HostFacts& host);

// INVALID_ARGUMENT: as of SettingsOf(), PlanLaunch() and CheckLaunch(), or a job that starts on
// this machine names a file of DeepSpeed that does not exist, or a coordinator would get a launch
// of `accel test`.
absl::StatusOr<LaunchPlan> PlanFor(const LaunchFlags& flags, const CallerContext& context);

}  // namespace accel::cli
