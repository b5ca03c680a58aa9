#include "cli/log_flags.h"

#include <re2/re2.h>

#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/job_flags.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

constexpr size_t kMaxGrepBytes = 1024;  // The coordinator rejects longer ones.
constexpr size_t kMaxRanges = 1000;

constexpr char kFooter[] =
    "If the connection to the coordinator, or that of a node, breaks, reading resumes where it "
    "stopped: no line is lost, and none comes twice.\n\n"
    "Exit codes: 0; 2: wrong usage; 1: any other error, for example if there is no such job, "
    "generation or rank, if a part of the output is not available, or if the coordinator does not "
    "come back within 2 minutes. With --follow, the command waits for it without a limit.";

absl::Status ReadGrep(const std::string& value, std::string* to) {
  if (value.empty()) return absl::InvalidArgumentError("it must not be empty");
  if (value.size() > kMaxGrepBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("it must have at most ", kMaxGrepBytes, " bytes"));
  }
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 expression(value, options);
  if (!expression.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it is not a regular expression: ", expression.error()));
  }
  *to = value;
  return absl::OkStatus();
}

absl::Status ReadStream(const std::string& value, v1::LogStream* to) {
  if (value != "stdout" && value != "stderr") {
    return absl::InvalidArgumentError("it must be stdout or stderr");
  }
  *to = value == "stdout" ? v1::STDOUT : v1::STDERR;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::pair<int, int>>> ParseRanks(absl::string_view text) {
  std::vector<std::pair<int, int>> ranks;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(part, absl::MaxSplits('-', 1));
    int first = -1;
    int last = -1;
    const bool ok = absl::SimpleAtoi(ends.first, &first) &&
                    absl::SimpleAtoi(ends.second.empty() ? ends.first : ends.second, &last);
    if (!ok || first < 0 || last < first || (ends.second.empty() && part.back() == '-')) {
      return absl::InvalidArgumentError("it must look like 3, 0-7 or 0-3,8");
    }
    ranks.emplace_back(first, last);
  }
  if (ranks.size() > kMaxRanges) {
    return absl::InvalidArgumentError(absl::StrCat("it must have at most ", kMaxRanges, " parts"));
  }
  return ranks;
}

absl::StatusOr<absl::Time> ParseSince(const std::string& text, absl::Time now,
                                      absl::TimeZone zone) {
  if (const auto age = ParseTimeLimit(text); age.ok()) return now - *age;
  absl::Time time;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return time;
  for (const char* format :
       {"%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"}) {
    if (absl::ParseTime(format, text, zone, &time, &error)) return time;
  }
  return absl::InvalidArgumentError(
      "it must be a duration such as 90 (seconds), 10m, 2h or 1d, or a time such as "
      "2026-11-22T08:30:00Z or '2026-11-22 08:30'");
}

FlagSet MakeLogFlagSet(LogFlags* to, absl::Time now) {
  FlagSet flags(
      "accel logs", "[flags] JOB",
      "Prints the output of a job's processes, standard output to standard output and "
      "standard error to standard error. The bytes of one rank are printed unchanged, except that "
      "a terminal gets control characters escaped; lines of several ranks begin with [rank R]. JOB "
      "is an id or its beginning.");
  flags.Value("rank", "R|R-S|R,S,…", "only these ranks (default: all)",
              [to](const std::string& value) -> absl::Status {
                ACCEL_ASSIGN_OR_RETURN(to->ranks, ParseRanks(value));
                return absl::OkStatus();
              });
  flags.Value("stream", "stdout|stderr", "only this stream (default: both)",
              [to](const std::string& value) { return ReadStream(value, &to->stream); });
  flags.Value("since", "TIME",
              "only what was written in this last time (90, 10m, 2h, 1d), or since a time "
              "(2026-11-22T08:30:00Z, or local: '2026-11-22 08:30'); starts with the generation "
              "that ran then",
              [to, now](const std::string& value) -> absl::Status {
                ACCEL_ASSIGN_OR_RETURN(to->since, ParseSince(value, now, absl::LocalTimeZone()));
                return absl::OkStatus();
              });
  flags.Int("tail", "N",
            "only the last N lines of each stream of each rank; with --grep, of those "
            "that match",
            &to->tail);
  flags.Value("grep", "REGEX",
              "only lines that match this RE2 expression; the nodes search, so that other lines do "
              "not travel",
              [to](const std::string& value) { return ReadGrep(value, &to->grep); });
  flags.Switch("fold",
               "print a line that several ranks print once, after [ranks 0-7, 8 times]; lines wait "
               "up to half a second for those of other ranks",
               &to->fold);
  flags.Int("generation", "G", "output of this generation (default: the newest)", &to->generation,
            1);
  flags.Switch(
      "follow,f",
      "continue until the job ends, through its restarts; with --generation, until that generation "
      "ends",
      &to->follow);
  flags.Switch("json",
               "print JSON, one object for each line, with its rank and stream (docs/json.md)",
               &to->json);
  flags.Switch(
      "no_pager",
      "print to the terminal itself; without this and without --follow, output that does not "
      "fit on the screen goes through ACCEL_PAGER, else PAGER, else less",
      &to->no_pager);
  AddConnectionFlags(&flags, &to->connection);
  flags.Argument("JOB", /*required=*/true, &to->job);
  flags.Footer(kFooter);
  return flags;
}

v1::ReadLogsRequest RequestOf(const LogFlags& flags, const std::string& job_id, int generation) {
  v1::ReadLogsRequest request;
  request.set_job_id(job_id);
  request.set_generation(generation);
  request.set_follow(flags.follow);
  for (const auto& [first, last] : flags.ranks) {
    v1::RankRange* range = request.add_ranks();
    range->set_first(first);
    range->set_last(last);
  }
  v1::LogSelection* selection = request.mutable_selection();
  selection->set_stream(flags.stream);
  if (flags.since.has_value()) selection->set_since_unix_ms(absl::ToUnixMillis(*flags.since));
  if (flags.tail >= 0) selection->set_tail(flags.tail);
  selection->set_grep(flags.grep);
  return request;
}

}  // namespace accel::cli
