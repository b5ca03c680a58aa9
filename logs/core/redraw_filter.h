// Leaves out most states of progress bars. A bar that is redrawn ten times a second for weeks would
// otherwise displace all other output on the disk (docs/decisions/0036).
//
// A line is redrawn if a carriage return without a line feed moves the cursor back to the line's
// beginning. The text up to the first carriage return passes unchanged, and the first state after
// it passes immediately. After that, one state passes per window, and the line's last state always
// passes. All other bytes pass unchanged.
//
// clang-format off
//   written   a\n\r  1 %\r  2 %\r  3 %\r …      50 %\r  51 %\r …    100 %\n
//   kept      a\n\r  1 %\r                      50 %\r              100 %\n
//                    ◀────── first window ─────▶
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
    // The window is this share of the time for which the line has been redrawn, but at least
    // `shortest` and at most `longest`.
    double share = 0.05;
    absl::Duration shortest = absl::Seconds(1);
    absl::Duration longest = absl::Seconds(10);
    size_t max_state_bytes = 4096;  // A longer state is not a bar, so it passes.
  };

  RedrawFilter() : RedrawFilter(Options()) {}
  explicit RedrawFilter(Options options) : options_(options) {}

  // Returns the bytes that must be written now. They are valid until the next call, and only while
  // `bytes` is valid.
  absl::string_view Add(absl::string_view bytes, absl::Time now);

  // Returns when Flush() must be called. Without this call, the last state of a bar that has
  // stopped would never be written. InfiniteFuture if no bytes are held back.
  absl::Time due() const;

  // Returns the bytes that were held back. They are valid until the next call.
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
  absl::Time since_;      // The time at which the current line was first redrawn.
  absl::Time passed_at_;  // The time at which the last state passed.
  // The last whole state, with its carriage return. Empty if it has passed.
  std::string held_;
  std::string state_;  // The current state. Empty if its beginning has passed.
  std::string out_;
  int64_t left_out_ = 0;
};

}  // namespace accel::logs
