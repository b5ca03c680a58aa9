#include "cli/submit_and_wait.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "cli/connect.h"
#include "cli/follow_job.h"
#include "cli/interrupts.h"
#include "cli/json.h"
#include "cli/render/end_message.h"
#include "cli/retry_deadline.h"

namespace accel::cli {
namespace {

// Long enough for a coordinator to restart, and short enough for a person who waits.
constexpr absl::Duration kSubmitRetryFor = absl::Seconds(10);
constexpr int kLeaveAfter = 3;  // Number of interrupts.

void Cancel(CoordinatorClient& client, const std::string& job_id, int count,
            const Console& console) {
  if (count >= kLeaveAfter) {
    PrintMessage(console, absl::StrCat("leaving job ", job_id, " alone"));
    ::_exit(128 + SIGINT);
  }
  PrintMessage(console,
               count == 1
                   ? absl::StrCat("cancelling job ", job_id, "; a second signal kills it")
                   : absl::StrCat("killing job ", job_id, "; a third signal leaves it alone"));
  const absl::Status cancelled = client.CancelJob(job_id, /*at_once=*/count > 1);
  if (!cancelled.ok()) PrintMessage(console, cancelled.message());
}

int Wait(CoordinatorClient& client, const std::string& job_id, bool json, const Console& console) {
  Interrupts interrupts([&](int count) { Cancel(client, job_id, count, console); });
  const absl::StatusOr<v1::Job> job = WaitForEnd(client, job_id, kUntilItIsBack, console);
  if (!job.ok()) return Fail(console, job.status());
  if (json) console.out << ToJson(*job, /*pretty=*/false) << "\n";
  if (const std::string message = EndMessage(*job); !message.empty())
    PrintMessage(console, message);
  return job->exit_code();
}

}  // namespace

int SubmitAndWait(CoordinatorClient& client, const v1::JobSpec& spec, const AfterSubmit& after,
                  const Console& console) {
  const auto job_id = SubmitWithRetries(client, spec, kSubmitRetryFor, console);
  if (!job_id.ok()) return Fail(console, job_id.status());
  if (after.json) {
    v1::SubmitJobResponse response;
    response.set_job_id(*job_id);
    console.out << ToJson(response, /*pretty=*/false) << "\n" << std::flush;
  } else {
    console.out << *job_id << "\n" << std::flush;
  }
  return after.wait ? Wait(client, *job_id, after.json, console) : 0;
}

}  // namespace accel::cli
