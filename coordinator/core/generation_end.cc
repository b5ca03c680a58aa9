#include "coordinator/core/generation_end.h"

#include "absl/strings/str_cat.h"
#include "coordinator/core/exit_status.h"
#include "coordinator/core/first_failure.h"
#include "coordinator/core/restart_pause.h"
#include "coordinator/core/wording.h"

namespace accel::coordinator {

EndGeneration EndOfGeneration(const Limits& limits, const JobEntry& entry,
                              const std::vector<Part>& parts) {
  const v1::Job& job = entry.job;
  EndGeneration end;
  end.job = common::JobId(job.job_id());
  end.reason = absl::StrCat(WhyStopping(job, job.next()), ".");
  const int failure_code = job.has_cause() ? JobExitCode(job.cause().exit()) : 0;
  if (job.has_cause()) {
    end.last_lines = LastLinesOf(job.cause(), parts);
    end.later = CountLater(entry, parts);
  }
  switch (job.next()) {
    case v1::TO_SUCCEEDED:
      end.to = v1::SUCCEEDED;
      break;
    case v1::TO_CANCELLED:
      end.to = v1::CANCELLED;
      // A cancelled job has its own exit code, because no worker's exit caused
      // its end (docs/decisions/0010).
      end.exit_code = kCancelledExitCode;
      break;
    case v1::TO_RESTARTING:
      end.to = v1::RESTARTING;
      end.exit_code = failure_code;
      if (job.has_cause()) {
        end.pause = RestartPause(limits, end.job, entry.history.quick);
        end.reason = DescribeRestart(job, end.pause);
      }
      break;
    default:
      end.to = v1::FAILED;
      end.exit_code = failure_code;
      break;
  }
  return end;
}

}  // namespace accel::coordinator
