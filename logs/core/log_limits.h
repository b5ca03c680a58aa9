#pragma once

#include <cstdint>

namespace accel::logs {

// Bounds of one stream of one rank, each at least 1. The first segment and the newest ones stay;
// the oldest between go, so that no more than `stream_bytes` are on disk (but never fewer than two
// segments). What is dropped is counted.
struct LogLimits {
  int64_t segment_bytes = 4 << 20;
  int64_t stream_bytes = 64 << 20;
};

}  // namespace accel::logs
