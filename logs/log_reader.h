// Reads one stream of one rank from its segment files, by offset, during or after their writing. A
// reader never delays the writer, because they share only the files.
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
  // Starts at byte `offset` of the stream. Neither the folder nor any file needs to exist yet.
  // `spill_dir` is described in segment_writer.h.
  LogReader(std::string rank_dir, LogStream stream, int64_t offset = 0, std::string spill_dir = "");

  struct Piece {
    int64_t gap = 0;      // Bytes that were dropped before this piece.
    int64_t offset = 0;   // Position of the piece's first byte in the stream.
    size_t size = 0;      // 0 if there is nothing more for now, or if the reading was cut short.
    bool is_cut = false;  // If true, there may be more now.
  };

  // Reads at most `size` bytes into `buffer`. A file that cannot be read counts as a gap. The time
  // that it takes is bounded, whatever is in the folder.
  Piece Read(char* buffer, size_t size);

  int64_t offset() const { return offset_; }  // Position of the next byte.

 private:
  int64_t ReadCurrent(char* buffer, size_t size);
  bool Open(const std::string& folder, int64_t segment);
  // Opens the spilled segment that starts exactly at offset_, where the stream continues without a
  // gap. Returns false if there is none.
  bool OpenSpilled();
  // Returns the names of all segments, ascending.
  std::vector<int64_t> List() const;
  // Returns the segment to read next, from a list that may be old. Lists the folder again if there
  // is none in it.
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

// Returns which of `segments` (ascending) to read next. If a segment is open, which starts at
// `current`, it is the one after it. Otherwise (`current` is -1) it is the last one that starts at
// or before `offset`, or the first one if all start later. nullopt if there is none.
std::optional<int64_t> NextSegment(const std::vector<int64_t>& segments, int64_t current,
                                   int64_t offset);

}  // namespace accel::logs
