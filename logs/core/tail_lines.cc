#include "logs/core/tail_lines.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_split.h"
#include "common/printable.h"

namespace accel::logs {
namespace {

// Returns the last `size` bytes, or up to three fewer, so that the result does not start within
// a UTF-8 sequence.
std::string EndOfLine(std::string line, size_t size) {
  if (line.size() <= size) return line;
  size_t begin = line.size() - size;
  while (begin < line.size() && (line[begin] & 0xC0) == 0x80) ++begin;
  return line.substr(begin);
}

}  // namespace

std::vector<std::string> LastLinesOf(absl::string_view text, TailLimits limits) {
  const std::vector<absl::string_view> all =
      absl::StrSplit(text, absl::ByAnyChar("\r\n"), absl::SkipEmpty());
  std::vector<std::string> lines;
  size_t left = limits.bytes;
  for (auto line = all.rbegin(); line != all.rend() && lines.size() < limits.lines; ++line) {
    std::string shown = common::Printable(*line);
    if (shown.size() > left && !lines.empty()) break;
    shown = EndOfLine(std::move(shown), left);
    left -= shown.size();
    lines.push_back(std::move(shown));
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

}  // namespace accel::logs
