#pragma once

#include <optional>

namespace accel {

// What prepared models compute in; their parameters, gradients and outputs stay fp32. fp16 needs
// its losses scaled, which backward() and prepared optimizers do.
enum class MixedPrecision { kNo, kFp16, kBf16 };

// What counts: a launcher that asks for one is obeyed, whatever the program says. Every launch says
// something, so that `no` leaves the program its own choice.
constexpr MixedPrecision choose_precision(MixedPrecision program,
                                          std::optional<MixedPrecision> launcher) {
  return launcher.value_or(MixedPrecision::kNo) == MixedPrecision::kNo ? program : *launcher;
}

}  // namespace accel
