// Plans a launch from its flags, its configuration file and this machine.
#pragma once

#include "absl/status/statusor.h"
#include "cli/config/core/effective_settings.h"
#include "cli/config/core/launch_plan.h"
#include "cli/launch_flags.h"
#include "cli/program.h"

namespace accel::cli {

// Returns the settings of a launch. Launches for a calling program (--end_file, --parent) and those
// of `accel test` ignore the coordinator in the file. A launch for a calling program then runs on
// one machine, and so does `accel test` if the file has a coordinator, unless a flag sets another
// number or a coordinator. INVALID_ARGUMENT: the file is wrong or missing.
absl::StatusOr<EffectiveSettings> SettingsOf(const LaunchFlags& flags,
                                             const CallerContext& context);

// Checks for settings that PlanLaunch() accepts, but `accel launch` does not support.
// INVALID_ARGUMENT, by cause:
// - The settings ask for a launcher that accel does not start.
// - They ask for a coordinator, or for several machines, and the address is wrong or missing.
// - They ask for one machine, and --rdzv_endpoint is wrong.
// - They ask for the part of one machine in a cluster's job.
absl::Status CheckLaunch(const EffectiveSettings& settings, const LaunchPlan& plan,
                         const HostFacts& host);

// Returns the plan of a launch. INVALID_ARGUMENT: as for SettingsOf(), PlanLaunch() and
// CheckLaunch(). It also means that a coordinator would get a launch of `accel test`. Or a job that
// starts on this machine names a file of DeepSpeed that does not exist.
absl::StatusOr<LaunchPlan> PlanFor(const LaunchFlags& flags, const CallerContext& context);

}  // namespace accel::cli
