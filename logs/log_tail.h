// Finds where the last lines of a stream begin, without reading what is before them.
#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "logs/log_paths.h"

namespace accel::logs {

// Returns the offset at which the last `count` lines begin for which `wanted` returns true, or
// `from` if there are fewer between `from` and the end of the stream. A line without an end, and
// each 64 KiB of a longer line, count as a line. Gives up and returns `from` once `stopping`
// returns true. It is called for each 64 KiB, because a file with holes may have 2^63 bytes.
int64_t FindTail(const std::string& rank_dir, LogStream stream, int64_t from, int64_t count,
                 absl::FunctionRef<bool(absl::string_view)> wanted,
                 absl::FunctionRef<bool()> stopping);

}  // namespace accel::logs
