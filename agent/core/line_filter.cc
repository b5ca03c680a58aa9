#include "agent/core/line_filter.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace accel::agent {

absl::StatusOr<std::unique_ptr<LineFilter>> LineFilter::Make(const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  auto expression = std::make_unique<RE2>(pattern, options);
  if (!expression->ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a regular expression: ", expression->error()));
  }
  return std::unique_ptr<LineFilter>(new LineFilter(std::move(expression)));
}

LineFilter::LineFilter(std::unique_ptr<RE2> expression) : expression_(std::move(expression)) {}

LineFilter::~LineFilter() = default;

bool LineFilter::Matches(absl::string_view line) const {
  return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *expression_);
}

void LineFilter::Add(absl::string_view bytes, std::string* out) {
  while (!bytes.empty()) {
    const size_t end = bytes.find_first_of("\r\n");
    const size_t room = kMaxLineBytes - line_.size();
    const size_t size = std::min({end == absl::string_view::npos ? bytes.size() : end + 1, room});
    const bool whole = size == room || end + 1 == size;
    // A line that is whole in `bytes` is matched without a copy.
    if (whole && line_.empty()) {
      if (Matches(bytes.substr(0, end == absl::string_view::npos ? size : std::min(end, size)))) {
        out->append(bytes.data(), size);
      }
    } else {
      line_.append(bytes.data(), size);
      if (whole) Flush(out);
    }
    bytes.remove_prefix(size);
  }
}

void LineFilter::Flush(std::string* out) {
  absl::string_view line = line_;
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (!line_.empty() && Matches(line)) out->append(line_);
  line_.clear();
}

}  // namespace accel::agent
