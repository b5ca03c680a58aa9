#include "logs/core/time_marks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace accel::logs {
namespace {

constexpr absl::string_view kHeader = "boot ";
// Maximum time between the reading of the clock and the arrival of the bytes in the file.
constexpr int64_t kSlackMs = 1000;
constexpr int64_t kShareOfAge = 128;

}  // namespace

TimeMarks::Change TimeMarks::Note(int64_t offset, int64_t now_ms, int64_t wall_ms) {
  const int64_t before_ms = marks_.empty() ? now_ms : last_write_ms_;
  last_write_ms_ = now_ms;
  if (!marks_.empty() && now_ms < marks_.back().made_ms + kSpacingMs) return Change::kNone;
  Change change = Change::kAdded;
  if (marks_.size() >= kMaxMarks) {
    Thin(now_ms);
    change = Change::kThinned;
  }
  marks_.push_back({offset, before_ms, now_ms, wall_ms});
  return change;
}

// Keeps marks whose spacing is a fixed share of their age. Their number grows with the logarithm of
// the time: 1,350 marks for three weeks, 1,900 for ten years.
void TimeMarks::Thin(int64_t now_ms) {
  size_t kept = 1;
  for (size_t i = 1; i < marks_.size(); ++i) {
    const int64_t spacing = (now_ms - marks_[i].made_ms) / kShareOfAge;
    if (marks_[i].made_ms >= marks_[kept - 1].made_ms + spacing) marks_[kept++] = marks_[i];
  }
  // The bound holds even if the clock jumps. A missing mark only makes a reader start earlier.
  marks_.resize(std::min(kept, kMaxMarks - 1));
}

std::string TimesHeader(absl::string_view boot_id) { return absl::StrCat(kHeader, boot_id, "\n"); }

std::string TimesLine(const TimeMark& mark) {
  return absl::StrCat(mark.offset, " ", mark.before_ms, " ", mark.made_ms, " ", mark.wall_ms, "\n");
}

Times ParseTimes(absl::string_view text) {
  Times times;
  // The last line may be incomplete, and its last number may lack digits.
  text = text.substr(0, text.rfind('\n') + 1);
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (absl::ConsumePrefix(&line, kHeader)) {
      times.boot_id = std::string(line);
      continue;
    }
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    TimeMark mark;
    if (words.size() != 4 || !absl::SimpleAtoi(words[0], &mark.offset) ||
        !absl::SimpleAtoi(words[1], &mark.before_ms) ||
        !absl::SimpleAtoi(words[2], &mark.made_ms) || !absl::SimpleAtoi(words[3], &mark.wall_ms)) {
      continue;
    }
    if (!times.marks.empty() && mark.offset < times.marks.back().offset) continue;
    times.marks.push_back(mark);
  }
  return times;
}

int64_t OffsetSince(const std::vector<TimeMark>& marks, int64_t since_ms, int64_t end) {
  if (marks.empty()) return 0;
  // All bytes after the last mark were written within kSpacingMs of it, because later bytes would
  // have a mark.
  if (marks.back().made_ms + TimeMarks::kSpacingMs + kSlackMs < since_ms) return end;
  int64_t offset = 0;
  for (const TimeMark& mark : marks) {
    if (mark.before_ms < since_ms) offset = mark.offset;
  }
  return offset;
}

std::vector<TimeMark> InWallTime(std::vector<TimeMark> marks) {
  int64_t latest = INT64_MIN;
  for (TimeMark& mark : marks) {
    const int64_t behind = mark.made_ms - mark.before_ms;
    latest = std::max(latest, mark.wall_ms - behind);
    mark.before_ms = latest;
    latest = std::max(latest, mark.wall_ms);
    mark.made_ms = latest;
  }
  return marks;
}

}  // namespace accel::logs
