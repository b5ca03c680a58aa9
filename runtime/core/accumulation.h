// Gradient accumulation: decides at which batches the optimizer steps, and how each batch's loss is
// weighted so that all batches of a step count alike. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "accel/options.h"

namespace accel::runtime {

// The part of an Accumulation that a checkpoint keeps.
struct AccumulationState {
  // Batches since the loader's end, or since the start without sync_with_dataloader.
  std::int64_t step = 0;
  int window = 0;     // Batches whose gradients wait for the next optimizer step.
  int num_steps = 1;  // The divisor of those batches' losses.

  bool operator==(const AccumulationState&) const = default;
};

// One call of accumulate().
struct AccumulatedBatch {
  bool end_of_dataloader = false;  // True for the last batch of the innermost loop over a loader.
  // Identifies the step of a prepared loader that delivered the batch. 0 outside of such loops.
  std::uint64_t loader_step = 0;
  std::vector<const void*> models = {};  // The models that the call names.
};

// Counts the batches of a training loop. A window is the batches whose gradients make one optimizer
// step. Unless the end of a loader resets the count, it continues from epoch to epoch. A loop that
// is left early leaves its open window to the next loop. All ranks decide the same without
// communication, because they begin the same batches. Not thread-safe.
class Accumulation {
 public:
  // Throws std::invalid_argument if num_steps < 1.
  explicit Accumulation(const GradientAccumulation& options);

  // Begins a batch, or joins the current one. Models that accumulate one after another in the same
  // step of a loader share a batch, as the two networks of a GAN do. Begins a new batch if a model
  // is named again, if the call names no model, and outside of loops over prepared loaders.
  void begin(const AccumulatedBatch& batch);

  // The number of batches that have begun. Two calls that share a batch count once.
  std::uint64_t batches() const { return batches_; }
  // Returns true if the optimizer steps at this batch, and before the first batch.
  bool sync_gradients() const { return sync_; }
  // Returns true if the backward passes of this batch reduce gradients over the processes.
  bool reduces() const { return sync_ || options_.sync_each_batch; }
  // Returns true if the optimizer steps at this batch only because of set_sync_gradients(true).
  bool is_forced() const { return sync_ && !due_; }
  // The divisor of this batch's loss.
  int loss_divisor() const { return window_ > 0 ? divisor_ : options_.num_steps; }
  // The factor for the gradients of the window's earlier batches, or 1 if nothing has to change.
  // Apply it before this batch's backward pass, so that all batches of the window count alike.
  double earlier_scale() const { return earlier_scale_; }

  const GradientAccumulation& options() const { return options_; }
  // Takes effect at the next batch. Throws std::invalid_argument if num_steps < 1.
  void set_num_steps(int num_steps);
  // Overrides sync_gradients() for the current batch. The batch keeps its weight, because its loss
  // may have been divided already.
  void set_sync_gradients(bool sync) { sync_ = sync; }

  // state() returns what a checkpoint keeps. After set_state(), the open window continues with the
  // gradients that it had accumulated, and num_steps keeps this object's value. set_state() throws
  // std::invalid_argument if a number is negative.
  AccumulationState state() const {
    return {.step = step_, .window = sync_ ? 0 : window_, .num_steps = loss_divisor()};
  }
  void set_state(const AccumulationState& state);

 private:
  bool has_begun(const AccumulatedBatch& batch) const;

  GradientAccumulation options_;
  std::int64_t step_ = 0;
  int window_ = 0;  // Batches since the last optimizer step, including the current one.
  bool sync_ = true;
  bool due_ = true;  // The value of sync_ before set_sync_gradients() changed it.
  int divisor_ = 1;  // The divisor of the window's losses; meaningless while window_ is 0.
  double earlier_scale_ = 1;
  std::uint64_t batches_ = 0;
  AccumulatedBatch batch_;  // The current batch, with the models of all calls that share it.
};

}  // namespace accel::runtime
