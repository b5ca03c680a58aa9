#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/core/loss_scale.h"

namespace accel {

// A loss scale, and the steps that were made at it since it last moved. A round of them counts as
// one, however many optimizers step in it: in a batch of accumulate() it ends with the batch, or
// once an optimizer has stepped twice; elsewhere at the next loss. Not thread-safe.
class ScaleRound {
 public:
  explicit ScaleRound(const DynamicLossScale& scale) : scale_(scale) {}

  float scale() const { return scale_.scale(); }
  // Where the scale is once the round has ended.
  DynamicLossScale after() const;

  // Before a loss, of a batch or of none: ends the round if it is over.
  void begin_loss(std::optional<std::uint64_t> batch);
  // An optimizer's gradients were unscaled for a step, and some were infinite or not a number.
  void add_step(const void* optimizer, bool overflowed);

 private:
  DynamicLossScale scale_;
  std::vector<const void*> stepped_ = {};
  bool has_repeated_ = false;
  bool overflowed_ = false;
  std::optional<std::uint64_t> batch_ = {};
};

}  // namespace accel
