#include "coordinator/core/failure_policy.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/exit_text.h"
#include "coordinator/core/exit_status.h"
#include "coordinator/core/job_spec.h"

namespace accel::coordinator {
namespace {

// Returns false in a cluster of fixed size (`accel launch`). No other node will connect to it, and
// the user waits at the terminal for the result.
bool OtherNodesMayCome(const Limits& limits) { return limits.fixed_nodes == 0; }

bool MaySpendMembership(const Limits& limits, const JobEntry& entry, absl::Time now) {
  const v1::JobSpec& spec = entry.job.spec();
  if (!OtherNodesMayCome(limits) || (spec.max_restarts() == 0 && !IsElastic(spec))) return false;
  return CountWithin(entry.history.membership_changes, limits.membership_window, now) <
         limits.max_membership_changes;
}

bool MayRestart(const JobEntry& entry, absl::Time now) {
  const v1::JobSpec& spec = entry.job.spec();
  if (spec.restart_window_ms() == 0) return entry.job.failures() < spec.max_restarts();
  return CountWithin(entry.history.failures, absl::Milliseconds(spec.restart_window_ms()), now) <
         spec.max_restarts();
}

std::string WhyRetryIsPointless(const Limits& limits, const JobEntry& entry,
                                const v1::FailureCause& cause, const TimeRange& failed) {
  const int code = JobExitCode(cause.exit());
  const auto& final_codes = entry.job.spec().no_retry_on();
  if (std::find(final_codes.begin(), final_codes.end(), code) != final_codes.end()) {
    return absl::StrCat("exit code ", code, " is not retried (--no_retry_on)");
  }
  const bool alike =
      IsQuick(limits, entry, failed) && SignatureOf(cause) == entry.history.signature;
  if (!alike || entry.history.alike + 1 < limits.max_alike_failures) return "";
  return absl::StrCat("this is failure ", entry.history.alike + 1,
                      " in a row that looks the same, ", "each within ",
                      absl::FormatDuration(limits.steady_after),
                      " of its start, so it is not restarted again");
}

}  // namespace

FailureVerdict JudgeFailure(const Limits& limits, const JobEntry& entry,
                            const v1::FailureCause& cause, const TimeRange& failed,
                            bool could_not_start, absl::Time now) {
  if (could_not_start && OtherNodesMayCome(limits) &&
      entry.job.start_failures() < limits.max_start_failures) {
    return {v1::TO_RESTARTING, Spends::kStart, ""};
  }
  if (common::IsOfNode(cause.exit()) && MaySpendMembership(limits, entry, now)) {
    return {v1::TO_RESTARTING, Spends::kMembership, ""};
  }
  if (!MayRestart(entry, now)) return {};
  const std::string why = WhyRetryIsPointless(limits, entry, cause, failed);
  return {why.empty() ? v1::TO_RESTARTING : v1::TO_FAILED, Spends::kRestart, why};
}

bool IsQuick(const Limits& limits, const JobEntry& entry, const TimeRange& failed) {
  return failed.latest - entry.started < limits.steady_after;
}

}  // namespace accel::coordinator
