// Bytes of one rank's stream, cut into whole lines that say whose they are. `\r` ends a line like
// `\n`, so that a progress bar becomes lines and ranks do not write over each other.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace accel {

// Not thread-safe. Holds at most kLongestLine bytes.
class LineRelay {
 public:
  static constexpr size_t kLongestLine = 16 << 10;  // A longer one is broken.

  // `prefix` goes before each line: "[3] ".
  explicit LineRelay(std::string prefix) : prefix_(std::move(prefix)) {}

  // Appends the lines that `data` completes.
  void Add(absl::string_view data, std::string* out);
  // Appends what has come after the last line end.
  void Finish(std::string* out);

 private:
  void EndLine(std::string* out);

  const std::string prefix_;
  std::string line_;
  bool after_return_ = false;  // A `\n` now belongs to the `\r` before it.
};

}  // namespace accel
