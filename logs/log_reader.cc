#include "logs/log_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace accel::logs {

namespace {

// Maximum number of segments that one call skips. It is bounded, because the job's user may have
// put any number of empty or unreadable segments into the folder.
constexpr int kSegmentsPerRead = 1024;

}  // namespace

std::optional<int64_t> NextSegment(const std::vector<int64_t>& segments, int64_t current,
                                   int64_t offset) {
  const int64_t after = std::max(current, current < 0 ? offset : current);
  const auto next = std::upper_bound(segments.begin(), segments.end(), after);
  if (current < 0 && next != segments.begin()) return *(next - 1);
  if (next == segments.end()) return std::nullopt;
  return *next;
}

LogReader::LogReader(std::string rank_dir, LogStream stream, int64_t offset, std::string spill_dir)
    : rank_dir_(std::move(rank_dir)),
      stream_(stream),
      offset_(offset),
      spill_dir_(std::move(spill_dir)) {}

bool LogReader::Open(const std::string& folder, int64_t segment) {
  file_ = OpenOutput(absl::StrCat(folder, "/", SegmentName(stream_, segment)));
  file_offset_ = segment;
  spilled_ = folder == spill_dir_;
  return file_.valid();
}

bool LogReader::OpenSpilled() {
  if (spill_dir_.empty() || (spilled_ && file_offset_ == offset_)) return false;
  const std::string path = absl::StrCat(spill_dir_, "/", SegmentName(stream_, offset_));
  return access(path.c_str(), F_OK) == 0 && Open(spill_dir_, offset_);
}

std::vector<int64_t> LogReader::List() const {
  std::vector<int64_t> segments = ListSegments(rank_dir_, stream_);
  if (!spill_dir_.empty()) {
    const std::vector<int64_t> spilled = ListSegments(spill_dir_, stream_);
    segments.insert(segments.end(), spilled.begin(), spilled.end());
    std::sort(segments.begin(), segments.end());
  }
  return segments;
}

std::optional<int64_t> LogReader::Next(std::vector<int64_t>* listed) const {
  const auto next = NextSegment(*listed, file_offset_, offset_);
  if (next.has_value()) return next;
  *listed = List();
  return NextSegment(*listed, file_offset_, offset_);
}

int64_t LogReader::ReadCurrent(char* buffer, size_t size) {
  if (!file_.valid()) return 0;
  ssize_t done = -1;
  do {
    done = pread(file_.get(), buffer, size, offset_ - file_offset_);
  } while (done < 0 && errno == EINTR);
  return std::max<int64_t>(done, 0);
}

LogReader::Piece LogReader::Read(char* buffer, size_t size) {
  Piece piece;
  std::vector<int64_t> listed;
  int64_t done = ReadCurrent(buffer, size);
  for (int segments = 0; done == 0; ++segments) {
    if (segments >= kSegmentsPerRead) {
      piece.is_cut = true;
      break;
    }
    if (OpenSpilled()) {
      done = ReadCurrent(buffer, size);
      continue;
    }
    const auto next = Next(&listed);
    if (!next.has_value()) break;
    // The writer has finished a segment once a later one exists. It may have written to this
    // segment after ReadCurrent() found the end, and before the later segment appeared. The segment
    // is therefore read once more.
    done = ReadCurrent(buffer, size);
    if (done > 0) break;
    // The writer may delete the segment before it is opened. The next round then finds
    // the next segment.
    if (!Open(rank_dir_, *next) && (spill_dir_.empty() || !Open(spill_dir_, *next))) continue;
    piece.gap += std::max<int64_t>(file_offset_ - offset_, 0);
    offset_ = std::max(offset_, file_offset_);
    done = ReadCurrent(buffer, size);
  }
  piece.offset = offset_;
  piece.size = static_cast<size_t>(done);
  offset_ += done;
  return piece;
}

}  // namespace accel::logs
