// When the parts of a stream were written: a short list of marks, from which a reader that wants
// the output since some time finds where to start (docs/decisions/0035).
//
// A mark says that all bytes before its offset had been written by some time. Times are those of
// CLOCK_BOOTTIME, because the wall clock may jump. Marks of the past are thinned out, so that their
// number remains bounded and their spacing is about 1 % of their age.
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
  int64_t before_ms = 0;  // When the last byte before `offset` was written.
  int64_t made_ms = 0;    // When the first byte from `offset` on was written.
  int64_t wall_ms = 0;    // The wall clock at made_ms, in Unix time.
};

// Not thread-safe.
class TimeMarks {
 public:
  static constexpr int64_t kSpacingMs = 1000;
  static constexpr size_t kMaxMarks = 2048;

  enum class Change { kNone, kAdded, kThinned };
  // Called before each write with the offset and time of its first byte.
  Change Note(int64_t offset, int64_t now_ms, int64_t wall_ms);

  // Oldest first.
  const std::vector<TimeMark>& marks() const { return marks_; }

 private:
  void Thin(int64_t now_ms);

  std::vector<TimeMark> marks_;
  int64_t last_write_ms_ = 0;
};

// The text form: a line with the boot id, then a line for each mark.
std::string TimesHeader(absl::string_view boot_id);
std::string TimesLine(const TimeMark& mark);

struct Times {
  std::string boot_id;
  std::vector<TimeMark> marks;
};
// Skips lines that are damaged or incomplete.
Times ParseTimes(absl::string_view text);

// Returns the greatest offset before which nothing was written at or after `since_ms`. Returns
// `end`, the size of the stream before `marks` were read, if all of it is older.
int64_t OffsetSince(const std::vector<TimeMark>& marks, int64_t since_ms, int64_t end);

// Returns the same marks with times of the wall clock, for output of an earlier boot. If that clock
// jumped back, an earlier time replaces a later one, so that no output is taken for older than it
// is.
std::vector<TimeMark> InWallTime(std::vector<TimeMark> marks);

}  // namespace accel::logs
