// Notices that the wall clock was set, because certificates are verified by it.
#pragma once

#include <optional>
#include <utility>

#include "absl/time/time.h"

namespace accel::coordinator {

// Not thread-safe.
class ClockJumps {
 public:
  // Returns by how much the wall clock has jumped since the previous call, or nullopt if that is
  // less than kLeast. Positive if the clock was set ahead. `steady` is monotonic and does not
  // advance while the machine is suspended, so a suspension looks like a jump ahead.
  std::optional<absl::Duration> Note(absl::Time steady, absl::Time wall) {
    const absl::Duration offset = wall - steady;
    const absl::Duration jump = offset - std::exchange(offset_, offset).value_or(offset);
    if (absl::AbsDuration(jump) < kLeast) return std::nullopt;
    return jump;
  }

 private:
  // Clocks of machines that are synchronised differ by less than this.
  static constexpr absl::Duration kLeast = absl::Minutes(1);

  std::optional<absl::Duration> offset_;
};

}  // namespace accel::coordinator
