// Writes one stream of one rank into segment files (log_paths.h) and bounds their size on disk.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "absl/strings/string_view.h"
#include "common/unique_fd.h"
#include "logs/core/log_limits.h"
#include "logs/log_paths.h"
#include "logs/time_index.h"

namespace accel::logs {

// Not thread-safe. Makes each file only when it has bytes for it, except in Finish(). The folder
// must exist.
class SegmentWriter {
 public:
  // Segments that cannot be written in `rank_dir` are written in `spill_dir`, typically a folder on
  // another file system (docs/decisions/0028). If `spill_dir` is empty, their bytes are dropped.
  SegmentWriter(std::string rank_dir, LogStream stream, LogLimits limits,
                std::string spill_dir = "");
  ~SegmentWriter() { Finish(); }
  SegmentWriter(const SegmentWriter&) = delete;

  // Never fails, and blocks only on the file system. Bytes that cannot be written (disk full, I/O
  // error) are dropped and counted, and a reader sees them as a gap.
  void Write(absl::string_view bytes);

  // Counts a gap of `size` bytes (at least 1) after the bytes written so far.
  void Drop(int64_t size);

  // Ends the stream. If its last bytes were dropped, makes an empty segment. Its offset shows how
  // many bytes were dropped.
  void Finish();

  int64_t received() const { return offset_; }  // Includes dropped bytes.
  int64_t dropped() const { return dropped_; }

 private:
  struct Segment {
    int64_t offset = 0;
    int64_t size = 0;
    bool spilled = false;
  };

  bool OpenSegment(bool spill);
  bool OpenFile();
  void CloseSegment();
  void DeleteOldest();
  std::string PathOf(const Segment& segment) const;

  const std::string rank_dir_;
  const LogStream stream_;
  const LogLimits limits_;
  const std::string spill_dir_;
  TimeIndexWriter times_;
  common::UniqueFd file_;  // The file of current_.
  Segment current_;        // Valid while file_ is open.
  int64_t offset_ = 0;
  int64_t dropped_ = 0;
  bool dropped_last_ = false;
  bool has_first_ = false;
  std::deque<Segment> middle_;  // The complete segments after the first one, oldest first.
  int64_t kept_bytes_ = 0;      // Size of all complete segments.
};

}  // namespace accel::logs
