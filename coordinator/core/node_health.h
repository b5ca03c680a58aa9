// Which nodes take work and fail to start it, for a reason of their own: no shim, no room on the
// disk, no descriptors (docs/decisions/0024). Such a node is idle again immediately and would take
// every job of the queue.
//
// After three failed starts in a row, of several jobs, it gets no work for ten seconds; then one
// job as a trial, and if that fails too, none for twice as long, up to five minutes. One job that
// starts, or a new stream of its agent, and nothing is held against it any more.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/ids.h"

namespace accel::coordinator {

struct NodeHealth {
  int failed_starts = 0;      // In a row.
  common::JobId newest_job;   // Of the newest of them, with its reason.
  std::string newest_reason;  // Bounded.
  bool several_jobs = false;  // They were not all of one job, which could be the job's own fault.
  int exclusions = 0;         // In a row.
  absl::Time excluded_until = absl::InfinitePast();
};

void NoteFailedStart(const common::JobId& job, absl::string_view reason, absl::Time now,
                     NodeHealth* health);

// It gets no work before excluded_until.
bool IsExcluded(const NodeHealth& health, absl::Time now);

// It has been excluded, and not started anything since: one job at a time may try.
bool IsOnTrial(const NodeHealth& health);

// "its last 3 starts failed, the newest, of job x, because: ..."
std::string WhyExcluded(const NodeHealth& health);

}  // namespace accel::coordinator
