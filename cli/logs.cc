#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/find_job.h"
#include "cli/render/escape.h"
#include "cli/render/line_relay.h"

namespace accel {
namespace {

struct LogFlags {
  ConnectionFlags connection;
  std::string job;
  int rank = -1;
  int generation = 0;
  bool follow = false;
};

// Writes chunks as they come: the bytes of a single rank as they are, those of several ranks as
// lines that begin with the rank.
class LogPrinter {
 public:
  LogPrinter(bool prefixed, const Console& console) : prefixed_(prefixed), console_(console) {}

  void Print(const v1::LogChunk& chunk) {
    if (chunk.gap_bytes() > 0) {
      Say(console_,
          absl::StrCat(chunk.gap_bytes(), " bytes of rank ", chunk.rank(), " are no longer kept"));
    }
    if (!chunk.error().empty()) {
      failed_ = true;
      Say(console_, absl::StrCat("rank ", chunk.rank(), ": ", EscapeControls(chunk.error())));
    }
    std::ostream& to = StreamOf(chunk.stream());
    if (prefixed_) {
      std::string lines;
      RelayOf(chunk).Add(chunk.data(), &lines);
      to << lines;
    } else {
      to << chunk.data();
    }
    to << std::flush;
  }

  void Finish() {
    for (auto& [key, relay] : relays_) {
      std::string lines;
      relay.Finish(&lines);
      StreamOf(key.second) << lines << std::flush;
    }
  }

  bool failed() const { return failed_; }

 private:
  using Key = std::pair<int, v1::LogStream>;

  std::ostream& StreamOf(v1::LogStream stream) const {
    return stream == v1::STDERR ? console_.err : console_.out;
  }

  LineRelay& RelayOf(const v1::LogChunk& chunk) {
    return relays_
        .try_emplace(Key(chunk.rank(), chunk.stream()), absl::StrCat("[", chunk.rank(), "] "))
        .first->second;
  }

  const bool prefixed_;
  const Console& console_;
  std::map<Key, LineRelay> relays_;
  bool failed_ = false;
};

// Whether the generation that will be read has several ranks.
bool HasSeveralRanks(const v1::Job& job, int generation) {
  int ranks = 0;
  for (const v1::GenerationRecord& record : job.generations()) {
    if (generation != 0 && record.generation() != generation) continue;
    ranks = 0;
    for (const v1::Placement& placement : record.placements()) ranks += placement.processes();
  }
  return ranks > 1;
}

int PrintLogs(const LogFlags& flags, const Console& console) {
  const auto client = ConnectToCoordinator(flags.connection);
  if (!client.ok()) return Fail(console, client.status());
  const auto job = FindJob(**client, flags.job);
  if (!job.ok()) return Fail(console, job.status());
  v1::ReadLogsRequest request;
  request.set_job_id(job->job_id());
  request.set_generation(flags.generation);
  request.set_rank(flags.rank);
  request.set_follow(flags.follow);
  LogPrinter printer(flags.rank < 0 && HasSeveralRanks(*job, flags.generation), console);
  const absl::Status read =
      (*client)->ReadLogs(request, [&](const v1::LogChunk& chunk) { printer.Print(chunk); });
  printer.Finish();
  if (!read.ok()) return Fail(console, read);
  return printer.failed() ? kExitError : kExitOk;
}

}  // namespace

int RunLogs(const std::vector<std::string>& args, const Console& console) {
  LogFlags flags;
  FlagSet flag_set("accel logs", "[flags] JOB",
                   "Prints what a job's processes have written, standard output to standard output "
                   "and standard error to standard error. One rank's bytes come as they are; lines "
                   "of several ranks begin with [RANK]. JOB is an id or its beginning.");
  flag_set.Int("rank", "R", "only this rank (default: all)", &flags.rank);
  flag_set.Int("generation", "G", "of this generation (default: the newest)", &flags.generation, 1);
  flag_set.Switch("follow,f", "go on until the generation ends", &flags.follow);
  AddConnectionFlags(&flag_set, &flags.connection);
  flag_set.Argument("JOB", /*required=*/true, &flags.job);
  flag_set.Footer(
      "Exit codes: 0; 2: wrong usage; 1: any other error, also if there is no such job, generation "
      "or rank, or if a part of the output could not be had.");
  if (const auto over = ParseOrExplain(flag_set, args, console)) return *over;
  return PrintLogs(flags, console);
}

}  // namespace accel
