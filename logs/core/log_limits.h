#pragma once

#include <cstdint>

namespace accel::logs {

// Bounds for one stream of one rank, each at least 1. The first segment and the newest ones are
// kept. The oldest ones between are deleted, so that at most `stream_bytes` are on disk, but never
// fewer than two segments. Deleted bytes are counted as a gap (docs/decisions/0006).
struct LogLimits {
  int64_t segment_bytes = 4 << 20;
  int64_t stream_bytes = 64 << 20;
  // Most states of progress bars are left out: see redraw_filter.h. Not for streams whose bytes a
  // terminal or a pipe gets as they are.
  bool collapse_bars = false;
};

}  // namespace accel::logs
