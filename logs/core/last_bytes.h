// The newest bytes of one stream, in memory. They are not read from the disk, because a failure
// report needs the last lines even if the disk is full or hangs. Pure. Not thread-safe.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace accel::logs {

class LastBytes {
 public:
  explicit LastBytes(size_t most) : most_(most) {}

  void Add(absl::string_view bytes);

  // Returns the newest bytes, at most `most`. If the first line is cut, it is left out, unless no
  // other line follows.
  absl::string_view text() const;

 private:
  const size_t most_;
  bool cut_ = false;  // Bytes before bytes_ were dropped.
  std::string bytes_;
};

}  // namespace accel::logs
