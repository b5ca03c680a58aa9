#include "cli/watch_status.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "absl/time/clock.h"
#include "cli/find_job.h"
#include "cli/json.h"
#include "cli/render/job_text.h"
#include "cli/render/live_text.h"
#include "cli/render/phase_text.h"
#include "cli/retry_deadline.h"

namespace accel::cli {
namespace {

// How often the coordinator is asked. A list of jobs has no stream of changes, and a person sees no
// difference.
constexpr absl::Duration kPace = absl::Seconds(1);
constexpr size_t kUsualRows = 24;

size_t TerminalRows() {
  winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : kUsualRows;
}

void PrintChanges(const v1::ListJobsResponse& changed, bool json, const Console& console) {
  for (const v1::Job& job : changed.jobs()) {
    console.out << (json ? ToJson(job, /*pretty=*/false) + "\n"
                         : ChangeLine(job, absl::Now(), absl::LocalTimeZone()));
  }
}

}  // namespace

int WatchStatus(CoordinatorClient& client, const WatchOptions& options, const Console& console) {
  std::string id;
  if (!options.job.empty()) {
    const auto job = FindJob(client, options.job);
    if (!job.ok()) return Fail(console, job.status());
    id = job->job_id();
  }
  LiveText live;
  JobChanges changes;
  RetryDeadline deadline(kUntilItIsBack, client, console);
  while (true) {
    const auto jobs = client.ListJobs(id);
    if (!jobs.ok()) {
      if (!IsWorthARetry(jobs.status()) || !deadline.Pause(jobs.status())) {
        return Fail(console, jobs.status());
      }
      continue;
    }
    deadline.Renew();
    if (options.in_place) {
      const std::string text = id.empty() || jobs->jobs().empty()
                                   ? RenderJobs(*jobs, absl::Now(), console.color)
                                   : RenderJob(jobs->jobs(0), absl::Now(), console.color);
      console.out << live.Draw(text, TerminalRows());
    } else {
      PrintChanges(changes.Since(*jobs), options.json, console);
    }
    console.out << std::flush;
    if (!console.out) return kExitError;  // The reader is gone.
    if (!id.empty() && !jobs->jobs().empty() && HasEnded(jobs->jobs(0))) {
      return kExitOk;
    }
    absl::SleepFor(kPace);
  }
}

}  // namespace accel::cli
