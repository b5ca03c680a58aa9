// The loss scale of fp16 training. Gradients below 2^-24 vanish in fp16. So the loss is multiplied
// by a large factor before the backward pass, and the gradients are divided by the factor before
// the step. The factor should be as large as possible without overflows. It therefore grows after
// many steps without an overflow, and shrinks at each overflow.
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

// A loss scale with the values of torch.amp.GradScaler: the scale is a float, and update()
// multiplies in double and rounds. The only difference is that it never becomes zero
// (docs/decisions/0018). Not thread-safe.
class DynamicLossScale {
 public:
  // Throws std::invalid_argument, naming the option that is out of range.
  explicit DynamicLossScale(const LossScalingOptions& options);

  float scale() const { return state_.scale; }
  // Updates the scale after a step. If a gradient was infinite or NaN, multiplies it by
  // backoff_factor. After growth_interval steps in a row without that, multiplies it by
  // growth_factor. A scale that would become infinite or zero is left unchanged, because it could
  // never recover. PyTorch lets it become zero.
  void update(bool found_inf);

  const LossScaleState& state() const { return state_; }
  // Throws std::invalid_argument if the scale is not positive and finite or the count is negative.
  void set_state(const LossScaleState& state);

 private:
  LossScalingOptions options_;
  LossScaleState state_;
};

}  // namespace accel::runtime
