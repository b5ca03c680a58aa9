// Merges the output of many ranks into one stream of lines, in which lines that several ranks print
// appear once:
//
//   [ranks 0-7, 8 times] epoch 3 begins
//   [rank 5] slow disk
//
// The order of each rank's lines is kept. A line therefore joins an equal line only if no other
// line of the same rank comes after that one. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace accel::cli {

// Not thread-safe.
class LineFold {
 public:
  struct Options {
    // Maximum number of lines that are held back, in case another rank prints the same. If there
    // are more, the oldest are printed.
    size_t max_lines = 10'000;
    size_t max_bytes = 8 << 20;
    // Maximum time for which a line is held back, if Due() is called often enough.
    absl::Duration window = absl::Milliseconds(500);
  };

  LineFold() : LineFold(Options()) {}
  explicit LineFold(Options options) : options_(options) {}

  // Returns the text to write after `bytes` have arrived from this rank. `gap` is the number of
  // bytes before them that were dropped. An unfinished line is held back until its end, up to 64
  // KiB. If a line was rewritten after carriage returns, only its last state counts.
  std::string Add(int rank, int64_t gap, absl::string_view bytes, absl::Time now);

  // Returns the lines that have been held back for long enough.
  std::string Due(absl::Time now);

  // Returns all remaining lines. Must be called at the end.
  std::string Flush();

 private:
  struct Entry {
    std::string text;
    std::set<int> ranks;
    int64_t times = 0;
    absl::Time since;
  };

  void AddLine(int rank, std::string text, absl::Time now);
  void PrintOldest(std::string* out);

  const Options options_;
  // The lines that are held back. Entry number n is entries_[n - first_].
  std::deque<Entry> entries_;
  int64_t first_ = 0;
  size_t bytes_ = 0;
  std::map<std::string, std::set<int64_t>> numbers_;  // The entries' numbers by text.
  std::map<int, int64_t> newest_;                     // The newest entry of each rank.
  std::map<int, std::string> unfinished_;             // By rank.
};

// Returns ranks in a short form: "3", "0-7", "0-3,8".
std::string RankList(const std::set<int>& ranks);

}  // namespace accel::cli
