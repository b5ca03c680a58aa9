// The record that an agent writes about a shim before it starts the shim. The next agent finds the
// shim by its record, and all processes that the shim may have left (docs/decisions/0032). Pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "shim/core/messages.h"

namespace accel::shim {

struct ShimRecord {
  std::string boot_id;  // The boot in which the shim was started.
  // The shim's process. 0 in the intent, which is written before the process exists.
  pid_t pid = 0;
  uint64_t start_time_ticks = 0;
  // The newest generation that was started in the shim, or is about to be started. 0 if there is
  // none. The fields up to `requires_contact` describe this generation.
  common::Generation generation = 0;
  std::vector<int> ranks;  // Indexed by local rank.
  std::string log_dir;
  std::string cgroup;
  std::string memory_cgroup;
  std::string pids_cgroup;
  absl::Duration orphan_grace;
  bool keep_without_agent = false;
  bool requires_contact = false;  // Its stop_on_disconnect_after is finite.
  // The user as whom the shim runs. 0 if the shim runs as the agent's own user.
  uid_t uid = 0;
  gid_t gid = 0;
  // The control groups of the whole job, v2, v1 memory and v1 pids, if the job is another user's.
  // They contain the groups of its generations (process/job_cgroup.h).
  std::string job_cgroup;
  std::string job_memory_cgroup;
  std::string job_pids_cgroup;
};

// Returns the record as text, with a version and one field on each line.
std::string FormatRecord(const ShimRecord& record);

// Parses a record. Ignores unknown fields, and gives missing ones their default, so that
// releases can read each other's records. INVALID_ARGUMENT: the text is not a record, or one of
// an incompatible version.
absl::StatusOr<ShimRecord> ParseRecord(absl::string_view text);

// Returns a report to use until the record's shim has reported. It has every worker, and no worker
// has a pid. The record must have a generation.
GenerationReport ReportFrom(const common::JobId& job, const ShimRecord& record);

}  // namespace accel::shim
