// Reads one stream of one rank from its segment files, by offset, while they are written or later.
// A reader never delays the writer, because the two share only files.
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
  // Starts at byte `offset` of the stream. The folder and its files may appear later. `spill_dir`
  // is that of SegmentWriter (segment_writer.h), or empty.
  LogReader(std::string rank_dir, LogStream stream, int64_t offset = 0, std::string spill_dir = "");

  struct Piece {
    int64_t gap = 0;      // Bytes that were dropped before this piece.
    int64_t offset = 0;   // Position of the piece's first byte in the stream.
    size_t size = 0;      // 0 if there are no bytes at present, or if `is_cut`.
    bool is_cut = false;  // The call was ended early. There may be more bytes.
  };

  // Reads at most `size` bytes into `buffer`. A file that cannot be read counts as a gap. Examines
  // a bounded number of segments, because a user may put any number of them into the folder.
  Piece Read(char* buffer, size_t size);

  int64_t offset() const { return offset_; }  // Position of the next byte.

 private:
  int64_t ReadCurrent(char* buffer, size_t size);
  bool Open(const std::string& folder, int64_t segment);
  // Opens the spilled segment that starts exactly at offset_, where the stream continues without a
  // gap. Returns false if there is none.
  bool OpenSpilled();
  // Returns the offsets of all segments, ascending.
  std::vector<int64_t> List() const;
  // Returns the segment to read next. Looks for it in `listed` first, and lists the folder again if
  // it finds none.
  std::optional<int64_t> Next(std::vector<int64_t>* listed) const;

  const std::string rank_dir_;
  const LogStream stream_;
  int64_t offset_;
  const std::string spill_dir_;
  common::UniqueFd file_;
  bool spilled_ = false;  // file_ is in spill_dir_.
  // Position of file_'s first byte in the stream. -1 if no file was opened.
  int64_t file_offset_ = -1;
};

// Returns which of `segments` (ascending) must be read next. If a segment is open, `current` is its
// offset, and the next segment after it is returned. If no segment is open, `current` is -1. Then
// the last segment that starts at or before `offset` is returned, or the first one if all start
// later. Returns nullopt if there is none.
std::optional<int64_t> NextSegment(const std::vector<int64_t>& segments, int64_t current,
                                   int64_t offset);

}  // namespace accel::logs
