#include "logs/segment_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace accel::logs {
namespace {

// Calls write(2) once. Returns the number of bytes that were written, or 0 on any error.
size_t WriteSome(int file, absl::string_view bytes) {
  ssize_t done = -1;
  do {
    done = write(file, bytes.data(), bytes.size());
  } while (done < 0 && errno == EINTR);
  return done > 0 ? static_cast<size_t>(done) : 0;
}

}  // namespace

SegmentWriter::SegmentWriter(std::string rank_dir, LogStream stream, LogLimits limits,
                             std::string spill_dir)
    : rank_dir_(std::move(rank_dir)),
      stream_(stream),
      limits_(limits),
      spill_dir_(std::move(spill_dir)),
      times_(rank_dir_, stream) {}

std::string SegmentWriter::PathOf(const Segment& segment) const {
  return absl::StrCat(segment.spilled ? spill_dir_ : rank_dir_, "/",
                      SegmentName(stream_, segment.offset));
}

void SegmentWriter::Write(absl::string_view bytes) {
  if (!bytes.empty()) times_.Note(offset_);
  bool write_failed = false;  // The rank's own folder has just failed to take bytes.
  while (!bytes.empty()) {
    if (file_.valid() && current_.size >= limits_.segment_bytes) CloseSegment();
    if (!file_.valid() && !OpenSegment(write_failed)) break;
    const auto room = static_cast<size_t>(limits_.segment_bytes - current_.size);
    const size_t done = WriteSome(file_.get(), bytes.substr(0, room));
    if (done == 0) {
      // The rest is written to the spill folder. If that fails too, the rest is dropped.
      write_failed = !current_.spilled;
      CloseSegment();
      if (!write_failed || spill_dir_.empty()) break;
      continue;
    }
    current_.size += static_cast<int64_t>(done);
    offset_ += static_cast<int64_t>(done);
    dropped_last_ = false;
    bytes.remove_prefix(done);
  }
  if (!bytes.empty()) Drop(static_cast<int64_t>(bytes.size()));
}

void SegmentWriter::Drop(int64_t size) {
  // The next bytes go into a new segment, so that the offsets show how many bytes are missing.
  CloseSegment();
  offset_ += size;
  dropped_ += size;
  dropped_last_ = true;
}

bool SegmentWriter::OpenSegment(bool spill) {
  DeleteOldest();
  current_ = {offset_, 0, false};
  if (!spill && OpenFile()) return true;
  current_.spilled = true;
  return !spill_dir_.empty() && OpenFile();
}

bool SegmentWriter::OpenFile() {
  file_.reset(
      open(PathOf(current_).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  return file_.valid();
}

void SegmentWriter::CloseSegment() {
  if (!file_.valid()) return;
  file_.reset();
  if (current_.size == 0) {
    unlink(PathOf(current_).c_str());
    return;
  }
  kept_bytes_ += current_.size;
  if (has_first_) middle_.push_back(current_);
  has_first_ = true;
}

// Deletes the oldest segments after the first one, to make room for a
// new one (docs/decisions/0006).
void SegmentWriter::DeleteOldest() {
  // The number of segments is bounded too, because a disk that is full now and then leaves
  // many short segments.
  const auto most = static_cast<size_t>(limits_.stream_bytes / limits_.segment_bytes);
  while (!middle_.empty() && (kept_bytes_ + limits_.segment_bytes > limits_.stream_bytes ||
                              middle_.size() + 2 > most)) {
    unlink(PathOf(middle_.front()).c_str());
    kept_bytes_ -= middle_.front().size;
    middle_.pop_front();
  }
}

void SegmentWriter::Finish() {
  CloseSegment();
  if (!dropped_last_) return;
  dropped_last_ = false;
  if (OpenSegment(false)) file_.reset();
}

}  // namespace accel::logs
