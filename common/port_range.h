// A range of TCP ports, the value of --port_range. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace accel::common {

struct PortRange {
  uint16_t first = 0;  // If 0, the kernel chooses any port.
  uint16_t last = 0;   // Inclusive.

  bool is_any() const { return first == 0; }
  int size() const { return last - first + 1; }
  // Returns "FIRST-LAST".
  std::string text() const;
};

// Parses "FIRST-LAST" with ports from 1 to 65535. An empty text is any port. INVALID_ARGUMENT: it
// has another form.
absl::StatusOr<PortRange> ParsePortRange(const std::string& text);

}  // namespace accel::common
