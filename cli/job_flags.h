// What `accel launch` and `accel submit` have in common, as plain values.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/flags.h"
#include "cli/program.h"

namespace accel::cli {

struct JobFlags {
  ProgramRequest program;
  std::vector<std::string> env;  // NAME=VALUE, or NAME for the value that it has here.
  std::string mixed_precision = "no";
  bool cpu = false;
  std::vector<int> gpu_ids;  // Empty: any.
  int max_restarts = 0;
  bool debug = false;
};

// `flags` must not outlive `to`.
void AddJobFlags(FlagSet* flags, JobFlags* to);

// INVALID_ARGUMENT: flags that contradict each other.
absl::Status CheckJobFlags(const JobFlags& flags);

// The texts of single values; the error says what the value should be.
// "all" (none named) or "0,1".
absl::StatusOr<std::vector<int>> ParseGpuIds(absl::string_view text);
// "auto" (none named), "4" or "3,4".
absl::StatusOr<std::vector<int>> ParseProcessesPerNode(absl::string_view text);
// "90", "90s", "15m", "2h", "1d", "1h30m", "1:30:00" or "15:00"; longer than 0, in seconds.
absl::StatusOr<absl::Duration> ParseTimeLimit(absl::string_view text);

}  // namespace accel::cli
