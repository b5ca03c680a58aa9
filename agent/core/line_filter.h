// Lets those lines of a rank's output pass that match an expression. Pure.
//
// The filter runs where the output is, because a log of many gigabytes should not travel to be
// thrown away (docs/decisions/0035).
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
  // Longer lines are cut: each piece counts as a line.
  static constexpr size_t kMaxLineBytes = 32 << 10;

  // INVALID_ARGUMENT: `pattern` is no RE2 expression; the message says why.
  static absl::StatusOr<std::unique_ptr<LineFilter>> Make(const std::string& pattern);
  ~LineFilter();

  // Appends to `out` the lines that end within `bytes` and match, with their ends. \n and \r end a
  // line, because progress bars are lines too.
  void Add(absl::string_view bytes, std::string* out);
  // Takes what was added last as a whole line, for example because the next bytes are missing.
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
