// What follows when a generation has failed, and which budget pays for it (docs/decisions/0038).
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
// A lost node is no failure of the program: a job of 1,000 nodes that runs for a month meets
// several. But a job without restarts (max_restarts 0) and of a fixed size has not asked to run
// twice, so it fails with its node.
//
// Two kinds of failures end a job although its budget is not spent, because another attempt would
// end the same way: exit codes that the user has named (no_retry_on), and the tenth failure in a
// row that looks the same and comes right after the start.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "coordinator/core/action.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

struct FailureVerdict {
  v1::AfterStop next = v1::TO_FAILED;
  Spends spends = Spends::kRestart;
  std::string note;  // Why the job ends although its budget is not spent. Empty if that is not so.
};

// `could_not_start`: the cause is a node that could not start its part for a reason of its own.
// `failed`: when the failure happened.
FailureVerdict JudgeFailure(const Limits& limits, const JobEntry& entry,
                            const v1::FailureCause& cause, const TimeRange& failed,
                            bool could_not_start, absl::Time now);

// Returns true if a generation that has failed then was over soon after its start.
bool IsQuick(const Limits& limits, const JobEntry& entry, const TimeRange& failed);

}  // namespace accel::coordinator
