#include <optional>

#include "cli/commands.h"
#include "cli/config/core/max_restarts.h"
#include "cli/connect.h"
#include "cli/find_job.h"
#include "cli/job_flags.h"
#include "cli/submit_and_wait.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

struct ResubmitFlags {
  ConnectionFlags connection;
  std::string id;
  std::optional<NodeRange> nodes;
  std::optional<absl::Duration> time_limit;
  int max_restarts = -1;  // If negative, that of the job.
  AfterSubmit after;
};

FlagSet MakeFlagSet(ResubmitFlags* to) {
  FlagSet flags("accel resubmit", "[flags] JOB",
                "Submits a job again, as a new job with the same program, arguments, environment "
                "and limits, and prints the new id. The old job remains as it is, and may still "
                "run. JOB is an id or its beginning.");
  flags.Value("nodes", "N|MIN:MAX", "another number of nodes (default: that of JOB)",
              [to](const std::string& value) -> absl::Status {
                ACCEL_ASSIGN_OR_RETURN(to->nodes, ParseNodes(value));
                return absl::OkStatus();
              });
  flags.Value("time_limit", "TIME", "another time limit: 90 (seconds), 15m, 2h, 1d, 1:30:00",
              [to](const std::string& value) -> absl::Status {
                ACCEL_ASSIGN_OR_RETURN(to->time_limit, ParseTimeLimit(value));
                return absl::OkStatus();
              });
  flags.Int("max_restarts", "N", "another number of restarts", &to->max_restarts, 0, kMaxRestarts);
  flags.Switch("wait", "wait until the new job ends, and exit with its exit code", &to->after.wait);
  flags.Switch("json", "print {\"job_id\": …} on one line", &to->after.json);
  AddConnectionFlags(&flags, &to->connection);
  flags.Argument("JOB", /*required=*/true, &to->id);
  flags.Footer(
      "A job whose end is all that the coordinator still knows cannot be submitted again.\n\n"
      "Exit codes: those of `accel submit`; 1 if there is no such job.");
  return flags;
}

absl::StatusOr<v1::JobSpec> SpecOf(const v1::Job& job, const ResubmitFlags& flags) {
  if (job.spec().argv().empty()) {
    return absl::NotFoundError("the coordinator remembers only the end of job " + job.job_id() +
                               ", not its program; submit it with `accel submit`");
  }
  v1::JobSpec spec = job.spec();
  if (flags.nodes.has_value()) {
    spec.set_nodes(flags.nodes->max);
    spec.set_min_nodes(flags.nodes->min < flags.nodes->max ? flags.nodes->min : 0);
  }
  if (flags.time_limit.has_value()) {
    spec.set_time_limit_ms(absl::ToInt64Milliseconds(*flags.time_limit));
  }
  if (flags.max_restarts >= 0) spec.set_max_restarts(flags.max_restarts);
  return spec;
}

}  // namespace

int RunResubmit(const std::vector<std::string>& args, const Console& console) {
  ResubmitFlags flags;
  FlagSet flag_set = MakeFlagSet(&flags);
  if (const auto over = ParseOrExplain(flag_set, args, console)) return *over;
  const auto client = ConnectToCoordinator(flags.connection);
  if (!client.ok()) return Fail(console, client.status());
  const auto job = FindJob(**client, flags.id);
  if (!job.ok()) return Fail(console, job.status());
  const auto spec = SpecOf(*job, flags);
  if (!spec.ok()) return Fail(console, spec.status());
  return SubmitAndWait(**client, *spec, flags.after, console);
}

}  // namespace accel::cli
