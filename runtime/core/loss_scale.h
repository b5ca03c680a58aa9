// The loss scale of fp16 training. Gradients below 2^-24 vanish in fp16, so the loss is multiplied
// by a large factor before the backward pass, and the gradients are divided by it before the step.
// The factor should be as large as possible without overflows: it grows after many steps without
// one, and shrinks at each overflow.
#pragma once

#include <cstdint>

#include "accel/options.h"

namespace accel::runtime {

// The part of a loss scale that a checkpoint keeps.
struct LossScaleState {
  float scale = 0;
  std::int32_t growth_tracker = 0;  // Steps since the last overflow or growth.

  bool operator==(const LossScaleState&) const = default;
};

// Computes in float as torch.amp.GradScaler does, so that the values are the same
// (docs/decisions/0018). Not thread-safe.
class DynamicLossScale {
 public:
  // Throws std::invalid_argument, naming the option that is out of range.
  explicit DynamicLossScale(const LossScalingOptions& options);

  float scale() const { return state_.scale; }
  // Call this after a step. If a gradient was infinite or NaN, multiplies the scale by
  // backoff_factor; after growth_interval steps in a row without that, by growth_factor. A scale
  // that would become infinite or zero is left unchanged, because it could never recover. PyTorch
  // does let it become zero.
  void update(bool found_inf);

  const LossScaleState& state() const { return state_; }
  // Throws std::invalid_argument if the scale is not positive and finite or the count is negative.
  void set_state(const LossScaleState& state);

 private:
  LossScalingOptions options_;
  LossScaleState state_;
};

}  // namespace accel::runtime
