// Decides what follows a failed generation, and which budget pays for it (docs/decisions/0038).
//
// There are three budgets, because three things go wrong for different reasons:
//
// clang-format off
//   what happened                    budget                                   if it is spent
//   -------------------------------  ---------------------------------------  ----------------------
//   a rank failed                    max_restarts, within restart_window_ms   the job fails
//   a node could not start its part  max_start_failures in a row              counts as a rank failed
//   a node was lost                  max_membership_changes an hour           counts as a rank failed
// clang-format on
//
// A lost node is not a failure of the program: a job of 1,000 nodes that runs for a month loses
// several. It counts as a rank failure in two other cases. The first is a job of a fixed size with
// max_restarts 0, because it has not asked to run twice. The second is a cluster of a fixed size.
//
// Two kinds of failures end a job although its budget is not spent, because another attempt would
// end in the same way. The first are exit codes that the user has named (no_retry_on). The second
// is the tenth failure in a row (max_alike_failures) that looks the same and comes soon
// after the start.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "coordinator/core/action.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

struct FailureVerdict {
  v1::AfterStop next = v1::TO_FAILED;
  Spends spends = Spends::kRestart;
  // Why the job ends although its budget is not spent. Otherwise empty.
  std::string note;
};

// Returns what follows a failure. `cause` is the failure, and `failed` the time at which it
// happened. `could_not_start` says that the cause is a node that could not start its part for a
// reason of its own.
FailureVerdict JudgeFailure(const Limits& limits, const JobEntry& entry,
                            const v1::FailureCause& cause, const TimeRange& failed,
                            bool could_not_start, absl::Time now);

// Returns true if the generation failed soon after its start (Limits::steady_after).
bool IsQuick(const Limits& limits, const JobEntry& entry, const TimeRange& failed);

}  // namespace accel::coordinator
