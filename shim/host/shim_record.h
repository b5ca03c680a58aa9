// What an agent writes about a shim before it starts it, so that the agent after it finds the shim
// and everything that the shim may have left (docs/decisions/0032). Pure.
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
  // The shim's process. 0 in the intent, which is written before it exists.
  pid_t pid = 0;
  uint64_t start_time_ticks = 0;
  // The newest generation that was started in it, or was about to be. 0 if there is none. The other
  // fields describe it.
  common::Generation generation = 0;
  std::vector<int> ranks;  // Indexed by local rank.
  std::string log_dir;
  std::string cgroup;
  std::string memory_cgroup;
  absl::Duration orphan_grace;
  bool keep_without_agent = false;
  bool requires_contact = false;  // It has a finite stop_on_disconnect_after.
  // The user whose process the shim is, if not this one's. 0 if it is this one's.
  uid_t uid = 0;
  gid_t gid = 0;
  // The control groups of the whole job, v2 and v1 memory, if it is another user's. They contain
  // those of the generations (process/job_cgroup.h).
  std::string job_cgroup;
  std::string job_memory_cgroup;
};

// Returns the record as text, with a version and one field on each line.
std::string FormatRecord(const ShimRecord& record);

// Unknown fields are ignored and missing ones get their default, so that releases understand each
// other's records. INVALID_ARGUMENT: the text is not a record, or one of an incompatible version.
absl::StatusOr<ShimRecord> ParseRecord(absl::string_view text);

// Returns the report of the record's generation before its shim has reported: every worker is
// there, and none has a pid. The record must have a generation.
GenerationReport ReportFrom(const common::JobId& job, const ShimRecord& record);

}  // namespace accel::shim
