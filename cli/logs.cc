#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/find_job.h"
#include "cli/line_relay.h"
#include "cli/render/escape.h"
#include "common/job_phase.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

struct LogFlags {
  ConnectionFlags connection;
  std::string job;
  int rank = -1;
  int generation = 0;
  bool follow = false;
};

// Writes chunks as they arrive, to standard output or standard error according to their stream.
class LogPrinter {
 public:
  LogPrinter(bool prefixed, const Console& console)
      : console_(console),
        out_({.prefix = prefixed, .terminal = ::isatty(STDOUT_FILENO) == 1}),
        err_({.prefix = prefixed, .terminal = ::isatty(STDERR_FILENO) == 1}) {}

  void Print(const v1::LogChunk& chunk) {
    if (!chunk.error().empty()) {
      failed_ = true;
      PrintMessage(console_,
                   absl::StrCat("rank ", chunk.rank(), ": ", EscapeControls(chunk.error())));
    }
    const bool is_err = chunk.stream() == v1::STDERR;
    (is_err ? console_.err : console_.out)
        << (is_err ? err_ : out_).Add(chunk.rank(), 0, chunk.gap_bytes(), chunk.data())
        << std::flush;
  }

  void Finish() {
    console_.out << out_.Flush() << std::flush;
    console_.err << err_.Flush() << std::flush;
  }

  bool failed() const { return failed_; }

 private:
  const Console& console_;
  LineRelay out_;
  LineRelay err_;
  bool failed_ = false;
};

// Returns true if the generation that will be read has several ranks.
bool HasSeveralRanks(const v1::Job& job, int generation) {
  int ranks = 0;
  for (const v1::GenerationRecord& record : job.generations()) {
    if (generation != 0 && record.generation() != generation) continue;
    ranks = 0;
    for (const v1::Placement& placement : record.placements()) ranks += placement.processes();
  }
  return ranks > 1;
}

// Returns the number of the first generation after `after`, or 0 if there is none.
int NextGeneration(const v1::Job& job, int after) {
  for (const v1::GenerationRecord& record : job.generations()) {
    if (record.generation() > after) return record.generation();
  }
  return 0;
}

// Blocks until the job has a generation after `after`, or has ended.
absl::StatusOr<v1::Job> AwaitNext(CoordinatorClient& client, const std::string& job_id, int after) {
  v1::WatchJobRequest request;
  request.set_job_id(job_id);
  v1::Job job;
  bool come = false;
  const absl::Status watched = client.WatchJob(request, [&](const v1::Job& newer) {
    job = newer;
    come = NextGeneration(job, after) != 0 || common::IsFinal(job.phase());
    return !come;
  });
  if (come) return job;
  return watched.ok() ? absl::UnavailableError("the coordinator closed the watch") : watched;
}

// Prints the output of one generation. Returns false if a part of it was not available,
// which is reported.
absl::StatusOr<bool> PrintGeneration(CoordinatorClient& client, const v1::Job& job,
                                     const v1::ReadLogsRequest& request, const Console& console) {
  LogPrinter printer(request.rank() < 0 && HasSeveralRanks(job, request.generation()), console);
  const absl::Status read =
      client.ReadLogs(request, [&](const v1::LogChunk& chunk) { printer.Print(chunk); });
  printer.Finish();
  ACCEL_RETURN_IF_ERROR(read);
  return !printer.failed();
}

absl::StatusOr<bool> PrintLogs(CoordinatorClient& client, const LogFlags& flags,
                               const Console& console) {
  ACCEL_ASSIGN_OR_RETURN(v1::Job job, FindJob(client, flags.job));
  v1::ReadLogsRequest request;
  request.set_job_id(job.job_id());
  request.set_generation(flags.generation);
  request.set_rank(flags.rank);
  request.set_follow(flags.follow);
  const bool to_the_end = flags.follow && flags.generation == 0 && !job.generations().empty();
  if (to_the_end) request.set_generation(job.generations().rbegin()->generation());
  while (true) {
    ACCEL_ASSIGN_OR_RETURN(const bool whole, PrintGeneration(client, job, request, console));
    if (!whole || !to_the_end) return whole;
    ACCEL_ASSIGN_OR_RETURN(job, AwaitNext(client, job.job_id(), request.generation()));
    const int next = NextGeneration(job, request.generation());
    if (next == 0) return true;
    PrintMessage(console,
                 absl::StrCat("job ", job.job_id(), " has started again: generation ", next));
    request.set_generation(next);
  }
}

}  // namespace

int RunLogs(const std::vector<std::string>& args, const Console& console) {
  LogFlags flags;
  FlagSet flag_set(
      "accel logs", "[flags] JOB",
      "Prints the output of a job's processes, standard output to standard output and "
      "standard error to standard error. The bytes of one rank are printed "
      "unchanged; lines of several ranks begin with [rank R]. JOB is an id or its beginning.");
  flag_set.Int("rank", "R", "only this rank (default: all)", &flags.rank);
  flag_set.Int("generation", "G", "output of this generation (default: the newest)",
               &flags.generation, 1);
  flag_set.Switch(
      "follow,f",
      "continue until the job ends, through its restarts; with --generation, until that generation "
      "ends",
      &flags.follow);
  AddConnectionFlags(&flag_set, &flags.connection);
  flag_set.Argument("JOB", /*required=*/true, &flags.job);
  flag_set.Footer(
      "Exit codes: 0; 2: wrong usage; 1: any other error, for example if there is no such job, "
      "generation or rank, or if a part of the output is not available.");
  if (const auto over = ParseOrExplain(flag_set, args, console)) return *over;
  const auto client = ConnectToCoordinator(flags.connection);
  if (!client.ok()) return Fail(console, client.status());
  const absl::StatusOr<bool> whole = PrintLogs(**client, flags, console);
  if (!whole.ok()) return Fail(console, whole.status());
  return *whole ? kExitOk : kExitError;
}

}  // namespace accel::cli
