// What a coordinator remembers of a job's failures, because it decides by them what follows the
// next one (failure_policy.h). Stored with the job, so a restart of the coordinator forgets none.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "proto/job.pb.h"

namespace accel::coordinator {

struct FailureHistory {
  // Times of the failures that still count against max_restarts, if the job has a window for them.
  std::vector<absl::Time> failures;
  // Times of the membership changes within Limits::membership_window.
  std::vector<absl::Time> membership_changes;
  // Failures in a row of generations that were over within Limits::steady_after. `alike` of them
  // are the newest ones with the same signature.
  int quick = 0;
  int alike = 0;
  std::string signature;
  // The node on which the newest `blamed` failures in a row began, if the job has several nodes.
  common::NodeId blamed_node;
  int blamed = 0;
};

// How many failures in a row must begin on one of several nodes before the node is blamed.
inline constexpr int kMinBlamed = 3;

// A failure that is written into a history.
struct Failure {
  std::string signature;   // SignatureOf() its cause.
  common::NodeId node;     // Where it began. Empty if it began on no single node.
  bool has_peers = false;  // The generation had other nodes.
  bool quick = false;      // The generation was over within Limits::steady_after.
};

// Writes a failure that happened at `now` into the history. Times that are older than `window` are
// dropped, unless it is zero.
void NoteFailure(const Failure& failure, absl::Duration window, absl::Time now,
                 FailureHistory* history);

// Writes a membership change into the history, and drops those that are older than `window`.
void NoteMembershipChange(absl::Duration window, absl::Time now, FailureHistory* history);

// Returns how many of the times are within `window` before `now`.
int CountWithin(const std::vector<absl::Time>& times, absl::Duration window, absl::Time now);

// Returns a text that is equal for failures that look the same: how the rank ended, and its last
// line without digits, because those are often times, pids or steps. At most 200 bytes.
std::string SignatureOf(const v1::FailureCause& cause);

}  // namespace accel::coordinator
