#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/find_job.h"
#include "cli/json_object.h"
#include "cli/render/phase_text.h"

namespace accel::cli {

int RunCancel(const std::vector<std::string>& args, const Console& console) {
  ConnectionFlags connection;
  std::string id;
  bool now = false;
  bool json = false;
  FlagSet flags(
      "accel cancel", "[flags] JOB",
      "Cancels a job: its processes get SIGTERM, and SIGKILL after a grace period of 30 s. Returns "
      "once the coordinator has accepted the request; `accel status JOB` shows the progress. JOB "
      "is an id or its beginning.");
  flags.Switch("now", "kill the job immediately, even if it is already being cancelled", &now);
  flags.Switch("json", "print JSON (docs/json.md)", &json);
  AddConnectionFlags(&flags, &connection);
  flags.Argument("JOB", /*required=*/true, &id);
  flags.Footer(
      "Exit codes: 0, even if the job had already ended; 2: wrong usage; 1: any other error, for "
      "example if there is no such job.");
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  const auto client = ConnectToCoordinator(connection);
  if (!client.ok()) return Fail(console, client.status());
  const auto job = FindJob(**client, id);
  if (!job.ok()) return Fail(console, job.status());
  const bool has_ended = HasEnded(*job);
  const absl::Status cancelled =
      has_ended ? absl::OkStatus() : (*client)->CancelJob(job->job_id(), now);
  if (!cancelled.ok()) return Fail(console, cancelled);
  const std::string phase = PhaseText(job->phase());
  if (json) {
    console.out << JsonObject::Versioned()
                       .Text("job_id", job->job_id())
                       .Bool("had_ended", has_ended)
                       .Text("phase_before", phase)
                       .Print()
                << "\n";
  } else if (has_ended) {
    PrintMessage(console, absl::StrCat("job ", job->job_id(), " has already ended: ", phase));
  }
  return 0;
}

}  // namespace accel::cli
