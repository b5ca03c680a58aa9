// Writes one stream of one rank to disk. Leaves out most states of progress bars, if asked to, and
// bounds the size of the rest.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "logs/core/log_limits.h"
#include "logs/core/redraw_filter.h"
#include "logs/log_paths.h"
#include "logs/segment_writer.h"

namespace accel::logs {

// Not thread-safe. Calls block only on the file system, and never fail (segment_writer.h).
class StreamWriter {
 public:
  // The parameters are those of SegmentWriter.
  StreamWriter(std::string rank_dir, LogStream stream, LogLimits limits, std::string spill_dir);

  void Write(absl::string_view bytes, absl::Time now);
  // Counts a gap of `size` bytes (at least 1) after the bytes written so far.
  void Drop(int64_t size, absl::Time now);
  // Ends the stream.
  void Finish(absl::Time now);

  // Returns when Flush() must be called to write a bar's state that is held back. InfiniteFuture if
  // none is held back.
  absl::Time due() const { return bars_.due(); }
  void Flush(absl::Time now);

 private:
  const bool collapse_bars_;
  RedrawFilter bars_;
  SegmentWriter segments_;
};

}  // namespace accel::logs
