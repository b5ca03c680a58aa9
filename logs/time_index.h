// The file LOG_DIR/rank_3/stdout.times, in which a stream's writer notes when the parts of the
// stream were written (logs/core/time_marks.h).
#pragma once

#include <cstdint>
#include <string>

#include "common/unique_fd.h"
#include "logs/core/time_marks.h"
#include "logs/log_paths.h"

namespace accel::logs {

// Not thread-safe. Makes the file with the first mark. Failures are ignored, because they only make
// a reader start earlier than necessary.
class TimeIndexWriter {
 public:
  TimeIndexWriter(const std::string& rank_dir, LogStream stream);

  // Must be called before bytes are written at `offset`.
  void Note(int64_t offset);

 private:
  void Rewrite();

  const std::string path_;
  common::UniqueFd file_;
  TimeMarks marks_;
};

// Returns the greatest known offset before which no byte was written at or after `since_unix_ms`.
// Returns 0 if no times are known, or the size of the stream if all of it is older.
int64_t FindSince(const std::string& rank_dir, LogStream stream, int64_t since_unix_ms);

// Returns the size of the stream, including dropped bytes: one more than the offset of
// its last byte.
int64_t StreamEnd(const std::string& rank_dir, LogStream stream);

}  // namespace accel::logs
