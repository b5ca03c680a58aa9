// The command line of `accel launch`.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/flags.h"
#include "cli/job_flags.h"

namespace accel::cli {

struct LaunchFlags {
  JobFlags job;
  int num_processes = 0;  // 0: one per GPU, or one.
  std::string log_dir;    // Empty: the output is not kept.
  std::string shim;       // Path of accel-shim; empty: ACCEL_SHIM, beside accel, Bazel's runfiles.
};

// The flags, bound to `to`, which must outlive the set.
FlagSet MakeLaunchFlagSet(LaunchFlags* to);

// INVALID_ARGUMENT: flags that contradict each other.
absl::Status CheckLaunchFlags(const LaunchFlags& flags);

}  // namespace accel::cli
