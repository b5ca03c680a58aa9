// When the gradients of several batches, added up, make one optimizer step.
#pragma once

#include <cstdint>
#include <vector>

#include "accel/options.h"

namespace accel {

// What a checkpoint keeps.
struct AccumulationState {
  std::int64_t step = 0;  // Batches since a loader's end, or in all.
  int window = 0;         // Batches in the open window; 0: none is open.
  int num_steps = 1;      // What their losses were divided by.

  bool operator==(const AccumulationState&) const = default;
};

// What accumulate() begins.
struct AccumulatedBatch {
  bool end_of_dataloader = false;  // The last batch of the loader that is being iterated.
  // Which step of the prepared loaders it comes from; 0: of none.
  std::uint64_t loader_step = 0;
  std::vector<const void*> models = {};  // Those that were named.
};

// The batches of one training loop. The count goes on from epoch to epoch unless a loader's end
// resets it; a loop that is left early leaves its gradients to the next. Not thread-safe.
class Accumulation {
 public:
  // Throws std::invalid_argument if num_steps < 1.
  explicit Accumulation(const GradientAccumulation& options);

  // A batch begins, unless it is the one that has begun already: models that accumulate one after
  // the other in one step of a loader share its batch. A model that is named again begins another.
  void begin(const AccumulatedBatch& batch);

  // How many have begun.
  std::uint64_t batches() const { return batches_; }
  // Whether the optimizer steps at this batch. True before the first one.
  bool sync_gradients() const { return sync_; }
  // Whether a backward pass of this batch reduces over the processes.
  bool reduces() const { return sync_ || options_.sync_each_batch; }
  // Whether it steps only because set_sync_gradients() said so.
  bool is_forced() const { return sync_ && !due_; }
  // What the loss of this batch is divided by.
  int loss_divisor() const { return window_ > 0 ? divisor_ : options_.num_steps; }
  // What the gradients of the window's earlier batches are multiplied by before this batch's are
  // added, so that all count alike.
  double earlier_scale() const { return earlier_scale_; }

  const GradientAccumulation& options() const { return options_; }
  // From the next batch on. Throws std::invalid_argument if num_steps < 1.
  void set_num_steps(int num_steps);
  // For the running batch, whose weight stays as it is.
  void set_sync_gradients(bool sync) { sync_ = sync; }

  // Setting it goes on in that window, with the gradients that it has added up; num_steps stays
  // what it is here. Throws std::invalid_argument if a number is negative.
  AccumulationState state() const {
    return {.step = step_, .window = sync_ ? 0 : window_, .num_steps = loss_divisor()};
  }
  void set_state(const AccumulationState& state);

 private:
  bool has_begun(const AccumulatedBatch& batch) const;

  GradientAccumulation options_;
  std::int64_t step_ = 0;
  int window_ = 0;  // Batches since the last step, this one included.
  bool sync_ = true;
  bool due_ = true;  // sync_, before set_sync_gradients().
  int divisor_ = 1;  // Of the losses of the window, if it has any.
  double earlier_scale_ = 1;
  std::uint64_t batches_ = 0;
  AccumulatedBatch batch_;  // The running one, with all models that were named in it.
};

}  // namespace accel
