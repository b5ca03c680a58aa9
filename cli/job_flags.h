// The flags that `accel launch` and `accel submit` share, as plain values.
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
  // NAME=VALUE, or NAME to copy the variable from this process's environment.
  std::vector<std::string> env;
  std::string mixed_precision = "no";
  bool cpu = false;
  std::vector<int> gpu_ids;  // If empty, any GPU.
  int max_restarts = 0;
  absl::Duration restart_window;  // 0 if all failures count.
  std::vector<int> no_retry_on;   // Exit codes.
  absl::Duration hang_timeout;    // 0 if ranks may be silent.
  bool debug = false;
};

// The number of nodes of a job. If `min` is less than `max`, the job is elastic.
struct NodeRange {
  int min = 1;
  int max = 1;
};

// Declares the flags, which write to `to`. `flags` must not outlive `to`.
void AddJobFlags(FlagSet* flags, JobFlags* to);

// Declares only those of the flags that are not settings of a configuration file.
void AddProgramFlags(FlagSet* flags, JobFlags* to);

// Checks combinations of flags. INVALID_ARGUMENT: flags that contradict each other.
absl::Status CheckJobFlags(const JobFlags& flags);

// The parsers of single values return INVALID_ARGUMENT with what the value should be.

// Parses "auto", which returns an empty list, or numbers such as "4" or "3,4".
absl::StatusOr<std::vector<int>> ParseProcessesPerNode(absl::string_view text);
// Parses a number of nodes, such as "4", or a range, such as "2:4".
absl::StatusOr<NodeRange> ParseNodes(absl::string_view text);
// Parses "90" (seconds), "90s", "15m", "2h", "1d", "1h30m", "1:30:00" or "15:00". The limit is from
// 1 second to 10 years.
absl::StatusOr<absl::Duration> ParseTimeLimit(absl::string_view text);

}  // namespace accel::cli
