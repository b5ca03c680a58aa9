#include "agent/logs/tail_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/logs/printable.h"
#include "common/unique_fd.h"

namespace accel {
namespace {

// The end of a file, at most `size` bytes of it.
std::string ReadEnd(const std::string& path, size_t size) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info;
  if (!file.valid() || fstat(file.get(), &info) != 0) return "";
  const int64_t begin = std::max<int64_t>(0, info.st_size - static_cast<int64_t>(size));
  std::string bytes(static_cast<size_t>(info.st_size - begin), '\0');
  const ssize_t done = pread(file.get(), bytes.data(), bytes.size(), begin);
  bytes.resize(done > 0 ? static_cast<size_t>(done) : 0);
  return bytes;
}

// The last `size` bytes without those that belong to the middle of a UTF-8 sequence.
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
    std::string shown = Printable(*line);
    if (shown.size() > left && !lines.empty()) break;
    shown = EndOfLine(std::move(shown), left);
    left -= shown.size();
    lines.push_back(std::move(shown));
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> TailLines(const std::string& rank_dir, LogStream stream,
                                   TailLimits limits) {
  // As many segments, from the newest backwards, as it takes. Twice the limit, so that line ends
  // and a line that is cut at the front cost nothing.
  const size_t enough = 2 * limits.bytes;
  const std::vector<int64_t> segments = ListSegments(rank_dir, stream);
  std::string text;
  for (auto offset = segments.rbegin(); offset != segments.rend(); ++offset) {
    if (text.size() >= enough) break;
    text.insert(0, ReadEnd(absl::StrCat(rank_dir, "/", SegmentName(stream, *offset)),
                           enough - text.size()));
  }
  return LastLinesOf(text, limits);
}

std::vector<std::string> TailLines(const std::string& rank_dir, TailLimits limits) {
  std::vector<std::string> lines = TailLines(rank_dir, LogStream::kStderr, limits);
  return lines.empty() ? TailLines(rank_dir, LogStream::kStdout, limits) : lines;
}

}  // namespace accel
