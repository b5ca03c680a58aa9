#include <unistd.h>

#include "absl/time/clock.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/find_job.h"
#include "cli/json.h"
#include "cli/render/failed_job_text.h"
#include "cli/render/job_text.h"
#include "cli/watch_status.h"

namespace accel::cli {
namespace {

int ShowAll(CoordinatorClient& client, bool json, const Console& console) {
  const auto jobs = client.ListJobs("");
  if (!jobs.ok()) return Fail(console, jobs.status());
  console.out << (json ? ToJson(*jobs, /*pretty=*/true) + "\n"
                       : RenderJobs(*jobs, absl::Now(), console.color));
  return 0;
}

int ShowOne(CoordinatorClient& client, const std::string& id, bool json, bool in_full,
            const Console& console) {
  const auto job = FindJob(client, id);
  if (!job.ok()) return Fail(console, job.status());
  if (json) {
    console.out << ToJson(*job, /*pretty=*/true) << "\n";
  } else if (job->phase() == v1::FAILED && !in_full) {
    console.out << RenderFailedJob(*job, absl::Now(), absl::LocalTimeZone());
  } else {
    console.out << RenderJob(*job, absl::Now(), console.color);
  }
  return 0;
}

}  // namespace

int RunStatus(const std::vector<std::string>& args, const Console& console) {
  ConnectionFlags connection;
  std::string job;
  bool json = false;
  bool in_full = false;
  bool watch = false;
  FlagSet flags(
      "accel status", "[flags] [JOB]",
      "Lists the jobs, or shows one: its phase and reason, and its generations with their nodes, "
      "exit codes and causes. Of a failed job it shows the first failure, what followed and what "
      "to do, in ten lines. JOB is an id or its beginning.");
  flags.Switch("long", "show a failed job in full too", &in_full);
  flags.Switch("json", "print JSON: the message ListJobsResponse, or Job", &json);
  flags.Switch(
      "watch,w",
      "show changes as they happen, until JOB ends or Ctrl-C: a table that is drawn again on "
      "a terminal, a line for each change in a pipe or with --json",
      &watch);
  AddConnectionFlags(&flags, &connection);
  flags.Argument("JOB", /*required=*/false, &job);
  flags.Footer("Exit codes: 0; 2: wrong usage; 1: any other error, such as an unknown job.");
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  const auto client = ConnectToCoordinator(connection);
  if (!client.ok()) return Fail(console, client.status());
  if (watch) {
    const bool in_place = !json && ::isatty(STDOUT_FILENO) == 1;
    return WatchStatus(**client, {.job = job, .json = json, .in_place = in_place}, console);
  }
  return job.empty() ? ShowAll(**client, json, console)
                     : ShowOne(**client, job, json, in_full, console);
}

}  // namespace accel::cli
