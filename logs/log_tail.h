// Finds the offset at which the last lines of a stream begin. Reads backwards from the end, so the
// bytes before these lines are not read.
#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "logs/log_paths.h"

namespace accel::logs {

// Considers the last `count` lines for which `wanted` returns true, and returns the offset of the
// first of them. Returns `from` if there are fewer such lines between `from` and the end of the
// stream. A line without an end counts as a line, and so does each 64 KiB of a longer line. Returns
// `from` once `stopping` returns true. `stopping` is called for each 64 KiB, because a file with
// holes may have 2^63 bytes.
int64_t FindTail(const std::string& rank_dir, LogStream stream, int64_t from, int64_t count,
                 absl::FunctionRef<bool(absl::string_view)> wanted,
                 absl::FunctionRef<bool()> stopping);

}  // namespace accel::logs
