#pragma once

#include <optional>

#include "accel/options.h"

namespace accel {

// Returns the precision to compute in. A launcher that asks for one overrides the program. `kNo`
// from a launcher leaves the program its own choice, because every launch says something.
constexpr MixedPrecision choose_precision(MixedPrecision program,
                                          std::optional<MixedPrecision> launcher) {
  return launcher.value_or(MixedPrecision::kNo) == MixedPrecision::kNo ? program : *launcher;
}

}  // namespace accel
