#include "cli/job_flags.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/config/core/gpu_ids.h"
#include "cli/config/core/max_restarts.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

constexpr int kMaxProcessesPerNode = 1024;
constexpr int kMaxNodes = 10'000;
constexpr int kMaxExitCode = 255;
constexpr absl::Duration kLongestTimeLimit = absl::Hours(24 * 3660);

// Parses "1:30:00" as hours, minutes and seconds, and "15:00" as minutes and seconds.
bool ParseClock(absl::string_view text, absl::Duration* to) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  if (parts.size() > 3) return false;
  *to = absl::ZeroDuration();
  for (size_t i = 0; i < parts.size(); ++i) {
    uint32_t number = 0;
    const bool digits =
        !parts[i].empty() && std::all_of(parts[i].begin(), parts[i].end(), absl::ascii_isdigit);
    if (!digits || !absl::SimpleAtoi(parts[i], &number)) return false;
    if (i > 0 && number > 59) return false;
    *to = *to * 60 + absl::Seconds(number);
  }
  return true;
}

absl::Status ReadMixedPrecision(const std::string& value, std::string* to) {
  for (const char* known : {"no", "fp16", "bf16", "fp8"}) {
    if (value != known) continue;
    *to = value;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Unknown mixed_precision mode: ", value, ". It must be no, fp16, bf16 or fp8"));
}

template <typename T>
absl::Status Assign(absl::StatusOr<T> parsed, T* to) {
  ACCEL_ASSIGN_OR_RETURN(*to, std::move(parsed));
  return absl::OkStatus();
}

}  // namespace

void AddJobFlags(FlagSet* flags, JobFlags* to) {
  flags->Switch("cpu", "use no GPU", &to->cpu);
  flags->Value("gpu_ids", "ID,ID,…|all", "use only these GPUs of a node (default: all)",
               [to](const std::string& value) { return Assign(ParseGpuIds(value), &to->gpu_ids); });
  flags->Value(
      "mixed_precision", "MODE", "no, fp16, bf16 or fp8 (default: no)",
      [to](const std::string& value) { return ReadMixedPrecision(value, &to->mixed_precision); });
  flags->Int("max_restarts", "N",
             "restart the job after a failure, in a new generation, at most N times (default: 0)",
             &to->max_restarts, 0, kMaxRestarts);
  flags->Switch("debug", "compare the shapes of tensors across ranks before each collective",
                &to->debug);
  AddProgramFlags(flags, to);
}

void AddProgramFlags(FlagSet* flags, JobFlags* to) {
  flags->Value("restart_window", "TIME",
               "count only the failures of the last TIME against --max_restarts: 15m, 2h, 1d "
               "(default: all count)",
               [to](const std::string& value) {
                 return Assign(ParseTimeLimit(value), &to->restart_window);
               });
  flags->Value("no_retry_on", "CODE,CODE,…",
               "do not restart the job after a failure with one of these exit codes",
               [to](const std::string& value) {
                 return Assign(ParseNumbers(value, 1, kMaxExitCode), &to->no_retry_on);
               });
  flags->Value(
      "hang_timeout", "TIME",
      "a rank that makes no progress for TIME is a failure: it has finished a step before, "
      "and none since, nor within three times its longest step (default: no limit)",
      [to](const std::string& value) { return Assign(ParseTimeLimit(value), &to->hang_timeout); });
  flags->Switch("module,m", "PROGRAM is a Python module, as for python -m", &to->program.module);
  flags->Text("python", "PATH",
              "the interpreter for .py files and modules (default: the active environment's)",
              &to->program.python);
  flags->Switch("no_python", "PROGRAM is an executable, even if it ends in .py",
                &to->program.no_python);
  flags->Repeated(
      "env", "NAME[=VALUE]",
      "set a variable for the workers; without =VALUE, copy it from this environment; may be given "
      "several times",
      &to->env);
  flags->Program(&to->program.words);
}

absl::Status CheckJobFlags(const JobFlags& flags) {
  if (flags.cpu && !flags.gpu_ids.empty()) {
    return absl::InvalidArgumentError("`--cpu` and `--gpu_ids` cannot be used together");
  }
  return absl::OkStatus();
}

absl::StatusOr<NodeRange> ParseNodes(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  const bool range = absl::StrContains(text, ':');
  NodeRange nodes;
  const bool numbers = absl::SimpleAtoi(ends.first, &nodes.min) &&
                       (!range || absl::SimpleAtoi(ends.second, &nodes.max));
  if (!range) nodes.max = nodes.min;
  if (numbers && 1 <= nodes.min && nodes.min <= nodes.max && nodes.max <= kMaxNodes) return nodes;
  return absl::InvalidArgumentError(
      absl::StrCat("it must be a number from 1 to ", kMaxNodes, ", or MIN:MAX, such as 2:4"));
}

absl::StatusOr<std::vector<int>> ParseProcessesPerNode(absl::string_view text) {
  if (text == "auto") return std::vector<int>();
  return ParseNumbers(text, 1, kMaxProcessesPerNode);
}

absl::StatusOr<absl::Duration> ParseTimeLimit(absl::string_view text) {
  absl::Duration limit;
  double days = 0;
  // absl::ParseDuration() accepts h, m and s, but neither days nor bare numbers.
  const bool in_days =
      absl::EndsWith(text, "d") && absl::SimpleAtod(text.substr(0, text.size() - 1), &days);
  if (in_days) limit = absl::Hours(24) * days;
  if (!in_days && !ParseClock(text, &limit) && !absl::ParseDuration(text, &limit)) {
    return absl::InvalidArgumentError("it must look like 90 (seconds), 15m, 2h, 1d or 1:30:00");
  }
  if (limit < absl::Seconds(1) || limit > kLongestTimeLimit) {
    return absl::InvalidArgumentError("it must be from 1 second to 10 years");
  }
  return limit;
}

}  // namespace accel::cli
