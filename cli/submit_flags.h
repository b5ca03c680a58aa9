// The command line of `accel submit`.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/connection_flags.h"
#include "cli/flags.h"
#include "cli/job_flags.h"

namespace accel::cli {

struct SubmitFlags {
  JobFlags job;
  ConnectionFlags connection;
  int nodes = 1;
  std::vector<int> processes_per_node;  // Empty: one per GPU, or one.
  std::string name;                     // Empty: the program's.
  std::string workdir;                  // Empty: the current one.
  absl::Duration time_limit;            // 0: none.
  bool wait = false;
  bool json = false;
};

// The flags, bound to `to`, which must outlive the set.
FlagSet MakeSubmitFlagSet(SubmitFlags* to);

// INVALID_ARGUMENT: flags that contradict each other.
absl::Status CheckSubmitFlags(const SubmitFlags& flags);

}  // namespace accel::cli
