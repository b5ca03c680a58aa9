// Turns the output of ranks into JSON, one object for each line (docs/json.md).
// Pure. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace accel::cli {

class JsonLines {
 public:
  explicit JsonLines(std::string stream) : stream_(std::move(stream)) {}

  // Returns an object for each line that `data` completes. If `gap_bytes`, the number of bytes that
  // are missing before `data`, is above 0, an object with this number comes first. A line of more
  // than 64 KiB is divided.
  std::string Add(int rank, int64_t gap_bytes, absl::string_view data);

  // Returns the lines that have no end.
  std::string Flush();

 private:
  std::string Line(int rank, absl::string_view text) const;

  const std::string stream_;
  std::map<int, std::string> begun_;  // The last line of each rank, without its end.
};

}  // namespace accel::cli
