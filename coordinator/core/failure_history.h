// The failures of a job that decide what follows the next failure (failure_policy.h). Stored with
// the job, so a restart of the coordinator forgets none of them.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "proto/job.pb.h"

namespace accel::coordinator {

struct FailureHistory {
  // Times of the failures that count against max_restarts. Empty if the job has no window for them
  // (restart_window_ms), because Job.failures counts them then.
  std::vector<absl::Time> failures;
  // Times of the membership changes within Limits::membership_window.
  std::vector<absl::Time> membership_changes;
  // `quick` counts failures in a row, all but the first of which came within Limits::steady_after
  // of the start. `alike` counts the newest of these that have the same signature. Both are at
  // least 1 after a failure.
  int quick = 0;
  int alike = 0;
  std::string signature;
  // The node on which the newest `blamed` failures in a row began. Empty if the newest failure
  // began on no single node, or the job has one node.
  common::NodeId blamed_node;
  int blamed = 0;
};

// Number of failures in a row that must begin on one of several nodes before that node is blamed.
inline constexpr int kMinBlamed = 3;

// A failure that is written into a history.
struct Failure {
  std::string signature;   // SignatureOf() its cause.
  common::NodeId node;     // Where it began. Empty if on no single node.
  bool has_peers = false;  // The generation had other nodes.
  bool quick = false;      // The generation was over within Limits::steady_after.
};

// Writes a failure that happened at `now` into the history. If `window` is above zero, also notes
// its time and drops the times that are older than `window`.
void NoteFailure(const Failure& failure, absl::Duration window, absl::Time now,
                 FailureHistory* history);

// Writes a membership change into the history, and drops changes that are older than `window`.
void NoteMembershipChange(absl::Duration window, absl::Time now, FailureHistory* history);

// Returns how many of the times are within `window` before `now`.
int CountWithin(const std::vector<absl::Time>& times, absl::Duration window, absl::Time now);

// Returns a text that is equal for failures that look the same. It has how the rank ended, and its
// last line without digits, because digits are often times, pids or steps. At most 200 bytes.
std::string SignatureOf(const v1::FailureCause& cause);

}  // namespace accel::coordinator
