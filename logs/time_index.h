// The file in which a stream's writer notes when its parts were written (logs/core/time_marks.h):
// LOG_DIR/rank_3/stdout.times.
#pragma once

#include <cstdint>
#include <string>

#include "common/unique_fd.h"
#include "logs/core/time_marks.h"
#include "logs/log_paths.h"

namespace accel::logs {

// Not thread-safe. Makes the file with its first mark. A failure costs only precision: a reader
// then starts earlier than it was asked to.
class TimeIndexWriter {
 public:
  TimeIndexWriter(const std::string& rank_dir, LogStream stream);

  // Called before bytes are written at `offset`.
  void Note(int64_t offset);

 private:
  void Rewrite();

  const std::string path_;
  common::UniqueFd file_;
  TimeMarks marks_;
};

// Returns an offset of the stream before which nothing was written at or after this time, as near
// to it as is known: 0 if nothing is known, the size of the stream if all of it is older.
int64_t FindSince(const std::string& rank_dir, LogStream stream, int64_t since_unix_ms);

// Returns the size of the stream: one more than the offset of its last byte.
int64_t StreamEnd(const std::string& rank_dir, LogStream stream);

}  // namespace accel::logs
