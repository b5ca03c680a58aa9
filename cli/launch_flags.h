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
  // Only the program, the variables and the restart rules. The settings below have the rest.
  JobFlags job;
  std::vector<FlagSetting> settings;  // In the order of the table.
  std::string config_file;            // If empty, the default file, if it exists.
  bool dry_run = false;               // Print the plan and start nothing.
  bool json = false;                  // Print the plan as JSON.
  std::string end_file;               // Where the finished job is written. If empty, nowhere.
  int parent = 0;                     // The process with which the launch ends. 0: none.
  // The launch is a part of `accel test`. It shows its output, so no coordinator gets it.
  bool is_test = false;
  // Path of accel-shim. If empty, ACCEL_SHIM, then the folder of accel, then Bazel's runfiles.
  std::string shim;
};

// Declares the flags, which write to `to`. `to` must outlive the set.
void AddLaunchFlags(FlagSet* flags, LaunchFlags* to);

// Returns the flags of `accel launch`.
FlagSet MakeLaunchFlagSet(LaunchFlags* to);

// Checks what needs no configuration file. INVALID_ARGUMENT: "true" or "false" before the program,
// which is meant as the value of a flag that takes none, or --json without --dry_run.
absl::Status CheckLaunchFlags(const LaunchFlags& flags);

}  // namespace accel::cli
