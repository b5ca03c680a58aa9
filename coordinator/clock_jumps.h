// Notices that the wall clock was set, because certificates are verified by it.
#pragma once

#include <optional>
#include <utility>

#include "absl/time/time.h"

namespace accel::coordinator {

// Not thread-safe.
class ClockJumps {
 public:
  // Returns by how much the wall clock has jumped since the previous call, if that is at least
  // kLeast. Positive if it was set ahead. `steady` is monotonic, and stops while the machine is
  // suspended, which therefore looks like a jump.
  std::optional<absl::Duration> Note(absl::Time steady, absl::Time wall) {
    const absl::Duration offset = wall - steady;
    const absl::Duration jump = offset - std::exchange(offset_, offset).value_or(offset);
    if (absl::AbsDuration(jump) < kLeast) return std::nullopt;
    return jump;
  }

 private:
  // Clocks of machines that agree differ by less.
  static constexpr absl::Duration kLeast = absl::Minutes(1);

  std::optional<absl::Duration> offset_;
};

}  // namespace accel::coordinator
