// How the factor moves by which losses are multiplied, so that small fp16 gradients do not vanish.
#pragma once

#include <cstdint>

#include "accel/options.h"

namespace accel {

// What a checkpoint keeps.
struct LossScaleState {
  float scale = 0;
  std::int32_t growth_tracker = 0;  // Steps since the last overflow or growth.

  bool operator==(const LossScaleState&) const = default;
};

// In float arithmetic, as torch's, so that the values are the same. Not thread-safe.
class DynamicLossScale {
 public:
  // Throws std::invalid_argument, naming the option that is out of range.
  explicit DynamicLossScale(const LossScalingOptions& options);

  float scale() const { return state_.scale; }
  // After a step: back off if a gradient was infinite or not a number, else grow in time. A scale
  // that would become infinite or, unlike torch's, zero stays: from either there is no way back.
  void update(bool found_inf);

  const LossScaleState& state() const { return state_; }
  // Throws std::invalid_argument for a scale that is not positive and finite, or a negative count.
  void set_state(const LossScaleState& state);

 private:
  LossScalingOptions options_;
  LossScaleState state_;
};

}  // namespace accel
