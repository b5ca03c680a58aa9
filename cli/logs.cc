#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/find_job.h"
#include "cli/follow_job.h"
#include "cli/log_cursor.h"
#include "cli/log_flags.h"
#include "cli/log_printer.h"
#include "cli/pager.h"
#include "cli/render/escape.h"
#include "cli/retry_deadline.h"
#include "common/relay_limit.h"
#include "common/status_macros.h"
#include "common/world_size.h"

namespace accel::cli {
namespace {

// The clocks of the coordinator, the nodes and this machine may differ by this much.
constexpr absl::Duration kClockSkew = absl::Minutes(1);

// Returns the number of the first generation after `after`, or 0 if there is none.
int NextGeneration(const v1::Job& job, int after) {
  for (const v1::GenerationRecord& record : job.generations()) {
    if (record.generation() > after) return record.generation();
  }
  return 0;
}

// Returns the number of ranks of a generation, or 0 if the job has no record of it.
int RanksOf(const v1::Job& job, int generation) {
  for (const v1::GenerationRecord& record : job.generations()) {
    if (record.generation() == generation) return common::WorldSize(record);
  }
  return 0;
}

// Returns the first generation to print.
int FirstGeneration(const LogFlags& flags, const v1::Job& job) {
  if (flags.generation != 0 || job.generations().empty()) return flags.generation;
  const int newest = job.generations().rbegin()->generation();
  if (!flags.since.has_value()) return newest;
  const int64_t since = absl::ToUnixMillis(*flags.since - kClockSkew);
  for (const v1::GenerationRecord& record : job.generations()) {
    if (record.ended_unix_ms() == 0 || record.ended_unix_ms() >= since) return record.generation();
  }
  return newest;
}

// Warns a follower who will not see every rank, because a node relays only so many at a time.
void WarnOfTooManyRanks(const v1::Job& job, const LogFlags& flags, int generation,
                        const Console& console) {
  const auto wanted = [&flags](int rank) {
    return flags.ranks.empty() ||
           std::any_of(flags.ranks.begin(), flags.ranks.end(), [rank](const auto& range) {
             return range.first <= rank && rank <= range.second;
           });
  };
  for (const v1::GenerationRecord& record : job.generations()) {
    if (!flags.follow || record.generation() != generation) continue;
    for (const v1::Placement& placement : record.placements()) {
      size_t ranks = 0;
      for (int i = 0; i < placement.processes(); ++i) ranks += wanted(placement.first_rank() + i);
      if (ranks <= common::kMaxRelays) continue;
      PrintMessage(
          console,
          absl::StrCat("node ", EscapeControls(placement.node_name()), " sends the output of ",
                       common::kMaxRelays, " ranks at the same time, and ", ranks,
                       " are followed; the others begin as ranks end; choose some with "
                       "--rank"));
    }
  }
}

// Prints the output of one generation. Each time the connection breaks, resumes where it stopped.
// Returns false if a part of the output was not available, which is reported.
absl::StatusOr<bool> PrintGeneration(CoordinatorClient& client, const v1::Job& job,
                                     const LogFlags& flags, int generation,
                                     const Console& console) {
  const int ranks = RanksOf(job, generation);
  LogCursor cursor(RequestOf(flags, job.job_id(), generation), ranks);
  const bool several =
      flags.ranks.empty() ? ranks > 1
                          : flags.ranks.size() > 1 || flags.ranks[0].first != flags.ranks[0].second;
  LogPrinter printer({.prefix = several,
                      .fold = flags.fold && several && !flags.json,
                      .follow = flags.follow,
                      .paged = Pager::IsRunning(),
                      .json = flags.json},
                     console);
  WarnOfTooManyRanks(job, flags, generation, console);
  RetryDeadline deadline(flags.follow ? kUntilItIsBack : kReadRetryFor, client, console);
  while (true) {
    const absl::Status read = client.ReadLogs(
        cursor.Rest(), [&] { deadline.Open(); },
        [&](const v1::LogChunk& chunk) {
          deadline.Renew();
          cursor.Note(chunk);
          printer.Print(chunk);
        });
    if (read.ok() || cursor.at_end()) break;
    if (!IsWorthARetry(read) || !deadline.Pause(read)) return read;
  }
  printer.Finish();
  return !printer.failed();
}

// Blocks until the job has a generation after `after`. Returns nullopt if the job ends without one.
absl::StatusOr<std::optional<v1::Job>> AwaitGeneration(CoordinatorClient& client,
                                                       const std::string& job_id, int after,
                                                       const Console& console) {
  const auto has_next = [after](const v1::Job& job) { return NextGeneration(job, after) != 0; };
  ACCEL_ASSIGN_OR_RETURN(v1::Job job,
                         WaitForJob(client, job_id, has_next, kUntilItIsBack, console));
  if (!has_next(job)) return std::nullopt;
  return job;
}

// Prints the output of this generation and of those after it. Returns false if a part of it was not
// available.
absl::StatusOr<bool> PrintGenerations(CoordinatorClient& client, v1::Job job, LogFlags flags,
                                      int generation, const Console& console) {
  const std::string id = job.job_id();
  bool whole = true;
  for (bool first = true;; first = false) {
    const absl::StatusOr<bool> printed = PrintGeneration(client, job, flags, generation, console);
    if (!printed.ok()) {
      // A job may continue with fewer ranks.
      if (first || !absl::IsNotFound(printed.status())) return printed.status();
      PrintMessage(console, printed.status().message());
    }
    whole &= printed.ok() && *printed;
    if (flags.generation != 0) return whole;
    int next = NextGeneration(job, generation);
    if (next == 0 && flags.follow) {
      ACCEL_ASSIGN_OR_RETURN(auto newer, AwaitGeneration(client, id, generation, console));
      if (!newer.has_value()) return whole;
      job = *std::move(newer);
      next = NextGeneration(job, generation);
      flags.tail = -1;  // A generation that begins now is wanted from its first line.
    }
    if (next == 0) return whole;
    const int skipped = next - generation - 1;
    PrintMessage(console, absl::StrCat("job ", id, " has started again: generation ", next,
                                       skipped == 0 ? ""
                                                    : absl::StrCat("; nothing is left of ", skipped,
                                                                   " before it")));
    generation = next;
  }
}

// Returns false if a part of the output was not available.
absl::StatusOr<bool> PrintLogs(CoordinatorClient& client, const LogFlags& flags,
                               const Console& console) {
  ACCEL_ASSIGN_OR_RETURN(v1::Job job, FindJob(client, flags.job));
  const std::string id = job.job_id();
  int generation = FirstGeneration(flags, job);
  if (generation == 0 && flags.follow) {
    PrintMessage(console, absl::StrCat("job ", id, " has not been started yet: ",
                                       EscapeControls(job.reason()), "\naccel: waiting for it"));
    ACCEL_ASSIGN_OR_RETURN(auto started, AwaitGeneration(client, id, 0, console));
    if (!started.has_value()) return true;
    job = *std::move(started);
    generation = NextGeneration(job, 0);
  }
  return PrintGenerations(client, std::move(job), flags, generation, console);
}

}  // namespace

int RunLogs(const std::vector<std::string>& args, const Console& console) {
  LogFlags flags;
  FlagSet flag_set = MakeLogFlagSet(&flags, absl::Now());
  if (const auto over = ParseOrExplain(flag_set, args, console)) return *over;
  if (flags.json && flags.fold) {
    return Fail(console, absl::InvalidArgumentError(
                             "--json and --fold exclude each other; JSON has every line"));
  }
  const auto client = ConnectToCoordinator(flags.connection);
  if (!client.ok()) return Fail(console, client.status());
  const auto pager =
      flags.follow || flags.no_pager || flags.json ? nullptr : Pager::StartOnATerminal();
  const absl::StatusOr<bool> whole = PrintLogs(**client, flags, console);
  if (!whole.ok()) return Fail(console, whole.status());
  return *whole ? kExitOk : kExitError;
}

}  // namespace accel::cli
