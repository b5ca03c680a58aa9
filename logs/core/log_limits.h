#pragma once

#include <cstdint>

namespace accel::logs {

// Bounds for one stream of one rank, each at least 1. The first segment and the newest segments
// are kept. Between them, the oldest segments are deleted, so that at most `stream_bytes` are on
// disk. The first segment and the one that is being written are never deleted. Deleted bytes are a
// gap to readers (docs/decisions/0006).
struct LogLimits {
  int64_t segment_bytes = 4 << 20;
  int64_t stream_bytes = 64 << 20;
  // If true, most states of progress bars are left out (redraw_filter.h). Must be false for streams
  // that are shown unchanged on a terminal or in a pipe.
  bool collapse_bars = false;
};

}  // namespace accel::logs
