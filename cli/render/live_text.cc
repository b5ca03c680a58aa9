#include "cli/render/live_text.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/render/escape.h"
#include "cli/render/phase_text.h"

namespace accel::cli {
namespace {

constexpr char kNoWrap[] = "\x1b[?7l";  // A line that wraps would take two rows.
constexpr char kWrap[] = "\x1b[?7h";
constexpr char kClearLine[] = "\x1b[K";
constexpr char kClearBelow[] = "\x1b[J";

}  // namespace

std::string LiveText::Draw(absl::string_view text, size_t rows) {
  text = absl::StripSuffix(text, "\n");
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  // The cursor stands below the text.
  const size_t most = rows > 2 ? rows - 1 : 1;
  if (lines.size() > most) {
    const size_t hidden = lines.size() - most + 1;
    lines.resize(most);
    lines.back() = absl::StrCat("… ", hidden, " more lines; a pipe gets all of them");
  }
  std::string bytes = drawn_ == 0 ? "" : absl::StrCat("\x1b[", drawn_, "A\r");
  bytes += kNoWrap;
  for (const std::string& line : lines) absl::StrAppend(&bytes, line, kClearLine, "\n");
  absl::StrAppend(&bytes, kClearBelow, kWrap);
  drawn_ = lines.size();
  return bytes;
}

v1::ListJobsResponse JobChanges::Since(const v1::ListJobsResponse& jobs) {
  v1::ListJobsResponse changed;
  std::map<std::string, std::string> now;
  for (const v1::Job& job : jobs.jobs()) {
    std::string fact = absl::StrCat(job.phase(), "/", job.generations_size(), "/", job.reason());
    const auto before = last_.find(job.job_id());
    if (before == last_.end() || before->second != fact) *changed.add_jobs() = job;
    now[job.job_id()] = std::move(fact);
  }
  last_ = std::move(now);  // Jobs that the coordinator has forgotten are forgotten here too.
  return changed;
}

std::string ChangeLine(const v1::Job& job, absl::Time now, absl::TimeZone zone) {
  return absl::StrCat(absl::FormatTime("%H:%M:%S", now, zone), " ", EscapeControls(job.job_id()),
                      " ", PhaseText(job.phase()), job.reason().empty() ? "" : ": ",
                      EscapeControls(job.reason()), "\n");
}

}  // namespace accel::cli
