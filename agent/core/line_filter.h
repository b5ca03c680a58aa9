// Selects the lines of a rank's output that match a regular expression. Pure.
//
// The filter runs on the node that has the output. The reason is that a log of many gigabytes
// should not be sent only to be discarded (docs/decisions/0035).
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace re2 {
class RE2;
}

namespace accel::agent {

// Not thread-safe.
class LineFilter {
 public:
  // Maximum size of a line. Longer lines are cut, and each piece counts as a line.
  static constexpr size_t kMaxLineBytes = 32 << 10;

  // Returns a filter for an RE2 expression. INVALID_ARGUMENT: `pattern` is not one; the
  // message says why.
  static absl::StatusOr<std::unique_ptr<LineFilter>> Make(const std::string& pattern);
  ~LineFilter();

  // Appends to `out` the matching lines that end within `bytes`, including the bytes that end them.
  // Both \n and \r end a line, because each redraw of a progress bar counts as a line.
  void Add(absl::string_view bytes, std::string* out);
  // Ends the unfinished line, for example because the next bytes are missing. Appends it to `out`
  // if it matches.
  void Flush(std::string* out);

  // Returns the number of bytes of the last, unfinished line.
  size_t held() const { return line_.size(); }
  bool Matches(absl::string_view line) const;

 private:
  explicit LineFilter(std::unique_ptr<re2::RE2> expression);

  const std::unique_ptr<re2::RE2> expression_;
  std::string line_;
};

}  // namespace accel::agent
