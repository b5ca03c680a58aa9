#include "logs/log_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/unique_fd.h"

namespace accel::logs {
namespace {

constexpr int64_t kBlockBytes = 64 << 10;

// Counts lines backwards.
class Scan {
 public:
  Scan(int64_t count, absl::FunctionRef<bool(absl::string_view)> wanted)
      : left_(count), wanted_(wanted) {}

  // Adds the bytes that precede those of the last call. `start` is their offset. Returns true once
  // the lines are found.
  bool Add(std::string block, int64_t start) {
    text_ = std::move(block) + text_;
    start_ = start;
    while (text_.size() > 1) {
      // A line feed at the very end belongs to the last line.
      const size_t feed = text_.rfind('\n', text_.size() - 2);
      if (feed == std::string::npos) break;
      if (Take(feed + 1)) return true;
    }
    return static_cast<int64_t>(text_.size()) >= kBlockBytes && Take(0);
  }

  // Notes that the bytes before the added ones are missing, so a line begins there. Returns true if
  // the lines are now found.
  bool Cut() { return !text_.empty() && Take(0); }

  int64_t found() const { return found_; }

 private:
  // Removes the line that begins at `begin` from the end of the text, and counts it if it is
  // wanted. Returns true if it is the last line to find.
  bool Take(size_t begin) {
    const bool counts = wanted_(absl::StripSuffix(absl::string_view(text_).substr(begin), "\n"));
    text_.resize(begin);
    if (!counts || --left_ > 0) return false;
    found_ = start_ + static_cast<int64_t>(begin);
    return true;
  }

  int64_t left_;
  const absl::FunctionRef<bool(absl::string_view)> wanted_;
  std::string text_;   // The bytes of the line whose beginning was not found yet.
  int64_t start_ = 0;  // The offset of text_.
  int64_t found_ = 0;
};

std::string ReadBlock(int file, int64_t at, int64_t size) {
  std::string block(static_cast<size_t>(size), '\0');
  const ssize_t done = pread(file, block.data(), block.size(), at);
  block.resize(static_cast<size_t>(std::max<ssize_t>(done, 0)));
  return block;
}

}  // namespace

int64_t FindTail(const std::string& rank_dir, LogStream stream, int64_t from, int64_t count,
                 absl::FunctionRef<bool(absl::string_view)> wanted,
                 absl::FunctionRef<bool()> stopping) {
  const std::vector<int64_t> segments = ListSegments(rank_dir, stream);
  Scan scan(count, wanted);
  std::optional<int64_t> next;  // The offset at which the bytes that were read so far begin.
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    const common::UniqueFd file =
        OpenOutput(absl::StrCat(rank_dir, "/", SegmentName(stream, *segment)));
    struct stat info = {};
    if (!file.valid() || fstat(file.get(), &info) != 0) continue;
    int64_t end = *segment + info.st_size;
    if (count == 0) return std::max(end, from);
    if (next.has_value() && *next != end && scan.Cut()) return scan.found();
    while (end > std::max(*segment, from)) {
      if (stopping()) return from;
      const int64_t begin = std::max({end - kBlockBytes, *segment, from});
      if (scan.Add(ReadBlock(file.get(), begin - *segment, end - begin), begin)) {
        return scan.found();
      }
      end = begin;
    }
    if (*segment <= from) break;
    next = *segment;
  }
  if (scan.Cut()) return scan.found();
  return from;
}

}  // namespace accel::logs
