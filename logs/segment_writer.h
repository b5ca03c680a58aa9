// Writes one stream of one rank into segment files (log_paths.h), bounded on disk.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "absl/strings/string_view.h"
#include "common/unique_fd.h"
#include "logs/core/log_limits.h"
#include "logs/log_paths.h"

namespace accel::logs {

// Not thread-safe. Makes its files when there is something to write; the folder must be there.
class SegmentWriter {
 public:
  // `spill_dir`: where segments go that `rank_dir` refuses, such as a folder of another file
  // system. Empty: nowhere.
  SegmentWriter(std::string rank_dir, LogStream stream, LogLimits limits,
                std::string spill_dir = "");
  ~SegmentWriter() { Finish(); }
  SegmentWriter(const SegmentWriter&) = delete;

  // Never fails, and waits for nothing but the file system: what cannot be written (disk full, an
  // I/O error) is dropped and counted, and a reader sees it as a gap.
  void Write(absl::string_view bytes);

  // `size` bytes (at least 1) that came after those are not to be had any more: a gap.
  void Drop(int64_t size);

  // Nothing more will come. If the end of the stream was dropped, an empty segment says how much.
  void Finish();

  int64_t received() const { return offset_; }  // Dropped bytes included.
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
  common::UniqueFd file_;  // Of current_.
  Segment current_;        // Open if file_ is.
  int64_t offset_ = 0;
  int64_t dropped_ = 0;
  bool dropped_last_ = false;
  bool has_first_ = false;
  std::deque<Segment> middle_;  // Complete ones after the first, oldest first.
  int64_t kept_bytes_ = 0;      // Of all complete ones.
};

}  // namespace accel::logs
