// Detects nodes that take jobs but cannot start them for a reason of their own: no shim, no room on
// the disk, no descriptors (docs/decisions/0024). Such a node is idle again immediately. If it were
// not excluded, it would take every job of the queue.
//
// After three failed starts in a row, of more than one job, the node is excluded: it gets no work
// for ten seconds. Then it gets one job as a trial. If the trial fails too, the node is excluded
// for twice as long, up to five minutes. A job that starts, or a new stream of its agent,
// clears the record.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/ids.h"

namespace accel::coordinator {

// The record of one node. A node is also excluded if the last three failures of a job with several
// nodes began on it. The other nodes ran the same program without failing first.
struct NodeHealth {
  int failed_starts = 0;      // Failed starts in a row.
  common::JobId newest_job;   // The job of the newest failed start.
  std::string newest_reason;  // Its reason: at most 256 bytes, and an ellipsis.
  // True if the failed starts were of more than one job. With one job, the fault could be
  // the job's own.
  bool several_jobs = false;
  // If above 0, the newest exclusion was caused by this many failures of newest_job.
  int blamed = 0;
  int exclusions = 0;  // Exclusions in a row.
  absl::Time excluded_until = absl::InfinitePast();
};

// Records that the node could not start its part of `job`. Excludes the node if too many
// starts have failed.
void NoteFailedStart(const common::JobId& job, absl::string_view reason, absl::Time now,
                     NodeHealth* health);

// Excludes the node because the last `failures` failures of `job` all began there.
void NoteBlame(const common::JobId& job, int failures, absl::Time now, NodeHealth* health);

// Returns true if the node gets no work at `now`.
bool IsExcluded(const NodeHealth& health, absl::Time now);

// Returns true if the node has been excluded and has not started a job since. Once the exclusion is
// over, such a node gets one job at a time.
bool IsOnTrial(const NodeHealth& health);

// Returns, for example, "its last 3 starts failed, the newest, of job x, because: ...".
std::string WhyExcluded(const NodeHealth& health);

}  // namespace accel::coordinator
