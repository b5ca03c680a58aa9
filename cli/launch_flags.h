// The flags of `accel launch`.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/flags.h"
#include "cli/job_flags.h"

namespace accel::cli {

struct LaunchFlags {
  JobFlags job;
  int num_processes = 0;  // If 0, one per GPU, or one if there is no GPU.
  std::string log_dir;    // If empty, the output is not kept.
  // Path of accel-shim. If empty, ACCEL_SHIM, then the folder of accel, then Bazel's runfiles.
  std::string shim;
};

// Returns the flags, which write to `to`. `to` must outlive the set.
FlagSet MakeLaunchFlagSet(LaunchFlags* to);

// Checks combinations of flags. INVALID_ARGUMENT: flags that contradict each other.
absl::Status CheckLaunchFlags(const LaunchFlags& flags);

}  // namespace accel::cli
