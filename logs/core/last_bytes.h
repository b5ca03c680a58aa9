// The end of a stream, kept in memory: what a failed worker said last is known even where the disk
// is full or hangs. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace accel::logs {

class LastBytes {
 public:
  explicit LastBytes(size_t most) : most_(most) {}

  void Add(absl::string_view bytes);

  // At most `most` bytes, the newest. A line that has lost its beginning is left out if another
  // follows it.
  absl::string_view text() const;

 private:
  const size_t most_;
  bool cut_ = false;  // Something has been there before bytes_.
  std::string bytes_;
};

}  // namespace accel::logs
