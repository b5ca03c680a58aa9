// Reads one stream of one rank by offset out of its segment files, while they are written or after.
// Never holds up the writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/unique_fd.h"
#include "logs/log_paths.h"

namespace accel::logs {

// Not thread-safe.
class LogReader {
 public:
  // Begins at byte `offset` of the stream. Nothing needs to exist yet. `spill_dir` as in
  // segment_writer.h.
  LogReader(std::string rank_dir, LogStream stream, int64_t offset = 0, std::string spill_dir = "");

  struct Piece {
    int64_t gap = 0;     // Bytes before this piece that have been dropped.
    int64_t offset = 0;  // Of the piece's first byte.
    size_t size = 0;     // 0: nothing more for now.
  };

  // Reads at most `size` bytes into `buffer`. A file that cannot be read counts as a gap.
  Piece Read(char* buffer, size_t size);

  int64_t offset() const { return offset_; }  // Of the next byte.

 private:
  int64_t ReadCurrent(char* buffer, size_t size);
  bool Open(const std::string& folder, int64_t segment);
  // Whether the stream goes on, without a gap, in a spilled segment; opens that.
  bool OpenSpilled();
  std::optional<int64_t> Next() const;

  const std::string rank_dir_;
  const LogStream stream_;
  int64_t offset_;
  const std::string spill_dir_;
  common::UniqueFd file_;
  bool spilled_ = false;      // file_ is of spill_dir_.
  int64_t file_offset_ = -1;  // Of file_'s first byte in the stream; -1: none was opened.
};

// Which of `segments` (ascending) to read next: after the one that begins at `current` (-1: none),
// the next one; else the last that begins at or before `offset`, or else the first one.
std::optional<int64_t> NextSegment(const std::vector<int64_t>& segments, int64_t current,
                                   int64_t offset);

}  // namespace accel::logs
