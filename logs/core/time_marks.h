// The times at which the parts of a stream were written, as a short list of marks. A reader that
// wants the output since some time uses them to find its start (docs/decisions/0035).
//
// A mark says by which time all bytes before its offset had been written. Times are those of
// CLOCK_BOOTTIME, because the wall clock may jump. Old marks are thinned out, so that their number
// is bounded. Their spacing is about 1 % of their age.
//
// clang-format off
//   output     ──aaaa───────────b─cc──────────────dddddd─▶
//   marks        ▲              ▲ ▲                ▲
//   offset       0              4 5                7
//   before_ms    -              end of a           end of c
// clang-format on
//
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace accel::logs {

// Times are in milliseconds.
struct TimeMark {
  int64_t offset = 0;
  int64_t before_ms = 0;  // The time at which the last byte before `offset` was written.
  int64_t made_ms = 0;    // The time at which the first byte from `offset` on was written.
  int64_t wall_ms = 0;    // The wall clock at made_ms, in Unix time.
};

// Not thread-safe.
class TimeMarks {
 public:
  static constexpr int64_t kSpacingMs = 1000;
  static constexpr size_t kMaxMarks = 2048;

  enum class Change { kNone, kAdded, kThinned };
  // Must be called before each write, with the offset of its first byte and the current times.
  Change Note(int64_t offset, int64_t now_ms, int64_t wall_ms);

  // Oldest first.
  const std::vector<TimeMark>& marks() const { return marks_; }

 private:
  void Thin(int64_t now_ms);

  std::vector<TimeMark> marks_;
  int64_t last_write_ms_ = 0;
};

// Return the lines of the text form: a line with the boot id, then a line for each mark.
std::string TimesHeader(absl::string_view boot_id);
std::string TimesLine(const TimeMark& mark);

struct Times {
  std::string boot_id;
  std::vector<TimeMark> marks;
};
// Parses the text form. Skips lines that are damaged or incomplete.
Times ParseTimes(absl::string_view text);

// Returns the greatest known offset before which no byte was written at or after `since_ms`. If all
// of the stream is older, returns `end`, the size that the stream had before `marks` were read.
int64_t OffsetSince(const std::vector<TimeMark>& marks, int64_t since_ms, int64_t end);

// Returns the marks with times of the wall clock, for output of an earlier boot. If that
// clock jumped back, later marks get the time before the jump, so that no output appears
// older than it is.
std::vector<TimeMark> InWallTime(std::vector<TimeMark> marks);

}  // namespace accel::logs
