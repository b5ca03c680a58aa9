// Decides whether the program or the launcher chooses the precision of a run.
#pragma once

#include <optional>

#include "accel/options.h"

namespace accel::runtime {

// Returns the precision to compute in. fp16 or bf16 from the launcher overrides the program's
// choice. kNo from the launcher counts as unspecified, because `accel launch` sets its variable in
// any case (docs/decisions/0018).
constexpr MixedPrecision choose_precision(MixedPrecision program,
                                          std::optional<MixedPrecision> launcher) {
  return launcher.value_or(MixedPrecision::kNo) == MixedPrecision::kNo ? program : *launcher;
}

}  // namespace accel::runtime
