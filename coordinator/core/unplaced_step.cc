#include "coordinator/core/unplaced_step.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/core/exit_status.h"
#include "coordinator/core/timed_out.h"
#include "coordinator/core/wording.h"

namespace accel::coordinator {

std::optional<Action> UnplacedStep(const JobEntry& entry, absl::Time now, absl::Time* wake_at) {
  const v1::Job& job = entry.job;
  const common::JobId id(job.job_id());
  if (entry.cancel) {
    return EndUnplaced{id, v1::CANCELLED, kCancelledExitCode, std::nullopt, "Cancelled."};
  }
  if (job.phase() == v1::RESTARTING) {
    // At its time limit the job becomes PENDING, because it fails at the limit in that phase.
    const absl::Time due = std::min(entry.not_before, entry.end_by);
    if (now >= due) return Requeue{id, job.reason()};
    *wake_at = std::min(*wake_at, due);
    return std::nullopt;
  }
  if (now >= entry.end_by) {
    v1::FailureCause cause = TimeLimitPassed(job);
    std::string reason = absl::StrCat(DescribeFailureFirst(cause), ".");
    return EndUnplaced{id, v1::FAILED, kTimedOutExitCode, std::move(cause), std::move(reason)};
  }
  *wake_at = std::min(*wake_at, entry.end_by);
  return std::nullopt;
}

}  // namespace accel::coordinator
