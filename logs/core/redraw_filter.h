// Leaves out most states of progress bars, because bars that are redrawn ten times a second for
// weeks would push all other output off the disk (docs/decisions/0036).
//
// A line is redrawn if a carriage return without a line feed puts the cursor back to its beginning.
// Its first state passes immediately. After that, one state passes per window, and the last one
// always does. All other bytes pass unchanged.
//
// clang-format off
//   written   a\n  1 %\r  2 %\r  3 %\r …      50 %\r  51 %\r …    100 %\r \n
//   kept      a\n  1 %\r                      50 %\r              100 %\r \n
//                  ◀────── first window ─────▶
// clang-format on
//
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace accel::logs {

// Not thread-safe.
class RedrawFilter {
 public:
  struct Options {
    // The window is this share of the time for which the line has been redrawn, within the bounds.
    double share = 0.05;
    absl::Duration shortest = absl::Seconds(1);
    absl::Duration longest = absl::Seconds(10);
    size_t max_state_bytes = 4096;  // Longer states are no bars, and pass.
  };

  RedrawFilter() : RedrawFilter(Options()) {}
  explicit RedrawFilter(Options options) : options_(options) {}

  // Returns what must be written now. The result is valid until the next call, and as long as
  // `bytes`.
  absl::string_view Add(absl::string_view bytes, absl::Time now);

  // Returns when Flush() must be called, so that a bar that has stopped shows its last state.
  // InfiniteFuture if nothing is held back.
  absl::Time due() const;

  // Returns what has been held back. The result is valid until the next call.
  absl::string_view Flush(absl::Time now);

  // Returns the number of bytes that were left out.
  int64_t left_out() const { return left_out_; }

 private:
  void AddState(absl::string_view* bytes, absl::Time now);
  void EndState();
  void EndLine();
  void Pass();

  const Options options_;
  bool redrawn_ = false;  // A carriage return has arrived in the current line.
  bool passing_ = false;  // The beginning of the current state has passed.
  absl::Time since_;      // When the current line was first redrawn.
  absl::Time passed_at_;  // When a state passed last.
  std::string held_;      // The last whole state, with its carriage return, unless it passed.
  std::string state_;     // The current state, unless its beginning has passed.
  std::string out_;
  int64_t left_out_ = 0;
};

}  // namespace accel::logs
