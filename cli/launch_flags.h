// The flags of `accel launch`.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/config/core/effective_settings.h"
#include "cli/flags.h"
#include "cli/job_flags.h"

namespace accel::cli {

struct LaunchFlags {
  // Only the program, the variables and the restart rules are used. All other flags
  // are in `settings`.
  JobFlags job;
  std::vector<FlagSetting> settings;  // In the order of the table.
  std::string config_file;            // If empty, the default file, if it exists.
  bool dry_run = false;               // Print the plan and start nothing.
  bool json = false;                  // Print the plan as JSON.
  // The file to which the finished job is written. If empty, none.
  std::string end_file;
  // The process with which the launch ends. 0 if there is none.
  int parent = 0;
  // The launch is a part of `accel test`, which shows the output of the launch. No coordinator may
  // therefore get the job.
  bool is_test = false;
  // Path of accel-shim. If empty, ACCEL_SHIM, then the folder of accel, then Bazel's runfiles.
  std::string shim;
};

// Declares the flags, which write to `to`. `to` must outlive the set.
void AddLaunchFlags(FlagSet* flags, LaunchFlags* to);

// Returns the flags of `accel launch`.
FlagSet MakeLaunchFlagSet(LaunchFlags* to);

// Performs the checks that need no configuration file. INVALID_ARGUMENT: --json without
// --dry_run. Or "true" or "false" stands before the program, where it is meant as the value of a
// flag that takes none.
absl::Status CheckLaunchFlags(const LaunchFlags& flags);

}  // namespace accel::cli
