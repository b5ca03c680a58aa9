// The output of ranks as JSON, one object a line (docs/json.md). Pure. Not thread-safe.
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

  // Returns an object for each line that `data` completes. Before them, if `gap_bytes` is above 0,
  // an object with their number, because so many bytes are missing there. A line of more than 64
  // KiB is divided.
  std::string Add(int rank, int64_t gap_bytes, absl::string_view data);

  // Returns the lines that have no end.
  std::string Flush();

 private:
  std::string Line(int rank, absl::string_view text) const;

  const std::string stream_;
  std::map<int, std::string> begun_;  // The last line of each rank, without its end.
};

}  // namespace accel::cli
