#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/core/loss_scale.h"

namespace accel::runtime {

// A loss scale, and the steps since it last moved. These steps are a round, which counts as one
// step for the scale, however many optimizers take part. Inside accumulate(), a round ends with the
// batch, or at the next loss after an optimizer has stepped twice. Elsewhere it ends at the next
// loss after a step. Not thread-safe.
class ScaleRound {
 public:
  explicit ScaleRound(const DynamicLossScale& scale) : scale_(scale) {}

  float scale() const { return scale_.scale(); }
  // Returns the scale as it will be once the round has ended.
  DynamicLossScale after() const;

  // Call this before a loss is scaled. Moves the scale if the round is over. `batch` identifies the
  // batch of accumulate() that the loss belongs to; nullopt outside of accumulate().
  void begin_loss(std::optional<std::uint64_t> batch);
  // Records a step of `optimizer`. `overflowed` is true if one of its gradients was infinite or
  // NaN, so that the step was skipped.
  void add_step(const void* optimizer, bool overflowed);

 private:
  DynamicLossScale scale_;
  std::vector<const void*> stepped_ = {};
  bool has_repeated_ = false;
  bool overflowed_ = false;
  std::optional<std::uint64_t> batch_ = {};
};

}  // namespace accel::runtime
