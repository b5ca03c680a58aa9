#include "cli/render/failed_job_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cli/render/escape.h"
#include "cli/render/first_cause.h"
#include "cli/render/times.h"
#include "common/exit_text.h"

namespace accel::cli {
namespace {

constexpr int kMostLines = 3;  // The last lines of the rank's output.

// Appends a line. An empty label continues the line above.
void Add(absl::string_view label, const std::string& value, std::string* text) {
  constexpr size_t kWidth = 15;
  const std::string padding(kWidth - label.size(), ' ');
  absl::StrAppend(text, label, padding, EscapeControls(value), "\n");
}

std::string End(const v1::Job& job, absl::Time now) {
  std::string text = job.job_id();
  if (!job.spec().name().empty()) absl::StrAppend(&text, " \"", job.spec().name(), "\"");
  absl::StrAppend(&text, ", FAILED with exit code ", job.exit_code());
  const absl::Time ended = absl::FromUnixMillis(job.ended_unix_ms());
  absl::StrAppend(&text, ", ", AgoText(ended, now));
  if (job.generations().empty()) return text;
  const absl::Time began = absl::FromUnixMillis(job.generations(0).started_unix_ms());
  return absl::StrCat(text, ", ran ", DurationText(ended - began));
}

// Returns "rank 1 on node a exited with code 3 (generation 2, at 14:03:22, after 31 s)".
std::string FirstFailure(const v1::Job& job, absl::TimeZone zone) {
  const v1::FailureCause& cause = job.cause();
  std::string text = common::DescribeFailure(cause);
  if (cause.generation() == 0) return text;
  absl::StrAppend(&text, " (generation ", cause.generation());
  if (cause.failed_unix_ms() > 0) {
    const absl::Time failed = absl::FromUnixMillis(cause.failed_unix_ms());
    absl::StrAppend(&text, ", at ", absl::FormatTime("%H:%M:%S", failed, zone));
    const auto& newest = *job.generations().rbegin();
    if (newest.generation() == cause.generation()) {
      const absl::Time began = absl::FromUnixMillis(newest.started_unix_ms());
      absl::StrAppend(&text, ", after ", DurationText(failed - began));
    }
  }
  return absl::StrCat(text, ")");
}

std::string Restarts(const v1::Job& job) {
  const int used = std::min(job.failures(), job.spec().max_restarts());
  std::string text = absl::StrCat(used, " of ", job.spec().max_restarts(), " used");
  if (job.spec().restart_window_ms() > 0) {
    const absl::Duration window = absl::Milliseconds(job.spec().restart_window_ms());
    text = absl::StrCat(job.failures(), " failures, at most ", job.spec().max_restarts(),
                        " restarts in ", DurationText(window));
  }
  if (job.membership_changes() > 0) {
    absl::StrAppend(&text, "; nodes were lost or joined ", job.membership_changes(), " times");
  }
  if (!job.cause().note().empty()) absl::StrAppend(&text, "; ", job.cause().note());
  return text;
}

// Returns a command, and after it why one would run it.
std::string WhereToLook(const v1::Job& job) {
  const v1::FailureCause& cause = job.cause();
  if (common::IsOfNode(cause.exit())) return "accel nodes   # is the node back?";
  if (cause.generation() == 0 || cause.exit().kind() == v1::ExitRecord::NOT_STARTED) return "";
  const std::string ranks = cause.rank() < 0 ? "" : absl::StrCat(" --rank ", cause.rank());
  const bool hung = cause.exit().kind() == v1::ExitRecord::HUNG;
  return absl::StrCat("accel logs ", job.job_id(), " --generation ", cause.generation(), ranks,
                      hung ? "   # what it wrote, and what its threads did" : "   # what it wrote");
}

}  // namespace

std::string RenderFailedJob(const v1::Job& job, absl::Time now, absl::TimeZone zone) {
  std::string text;
  Add("job", End(job, now), &text);
  if (!job.has_cause()) {
    Add("reason", job.reason(), &text);
  } else {
    const v1::FailureCause* began_with = FirstOtherCause(job);
    if (began_with != nullptr) {
      Add("began with",
          absl::StrCat(common::DescribeFailure(*began_with), " (generation ",
                       began_with->generation(), ")"),
          &text);
    }
    Add(began_with == nullptr ? "first failure" : "ended with", FirstFailure(job, zone), &text);
    const auto& lines = job.cause().last_lines();
    const int most = began_with == nullptr ? kMostLines : kMostLines - 1;  // So there are ten.
    for (int i = std::max(0, lines.size() - most); i < lines.size(); ++i) {
      Add("  |", lines[i], &text);
    }
    if (job.cause().later().ranks() > 0) {
      Add("after it", common::DescribeLater(job.cause().later()), &text);
    }
  }
  Add("restarts", Restarts(job), &text);
  const std::string look = WhereToLook(job);
  if (!look.empty()) Add("what to do", look, &text);
  Add(look.empty() ? "what to do" : "",
      absl::StrCat("accel status ", job.job_id(), " --long   # its generations, nodes and command"),
      &text);
  Add("", absl::StrCat("accel resubmit ", job.job_id(), "   # runs it again as a new job"), &text);
  return text;
}

}  // namespace accel::cli
