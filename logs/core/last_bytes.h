// The newest bytes of one stream, kept in memory, because a report must have a failed worker's last
// lines even if the disk is full or hangs. Pure. Not thread-safe.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace accel::logs {

class LastBytes {
 public:
  explicit LastBytes(size_t most) : most_(most) {}

  void Add(absl::string_view bytes);

  // Returns the newest bytes, at most `most`. A first line that is cut off is left out if
  // another line follows it.
  absl::string_view text() const;

 private:
  const size_t most_;
  bool cut_ = false;  // Bytes before bytes_ were dropped.
  std::string bytes_;
};

}  // namespace accel::logs
