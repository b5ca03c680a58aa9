// When the gradients of several batches, added up, make one optimizer step.
#pragma once

#include <cstdint>

namespace accel {

struct GradientAccumulation {
  int num_steps = 1;  // Batches per optimizer step, at least 1.
  // Calls of a scheduler while gradients are added up count in its step_count().
  bool adjust_scheduler = true;
  // The last batch of a prepared loader ends a window, however short.
  bool sync_with_dataloader = true;
  // Reduce over the processes in every backward pass: more communication, but a process never holds
  // gradients of its own alone.
  bool sync_each_batch = false;
  // Divide the loss by num_steps in a short last window too, as Accelerate does, so that its
  // batches count less than others. False: every window is the mean of its batches.
  bool full_window_scaling = false;
};

// What a checkpoint keeps.
struct AccumulationState {
  std::int64_t step = 0;  // Batches since a loader's end, or in all.
  int window = 0;         // Batches in the open window; 0: none is open.
  int num_steps = 1;      // What their losses were divided by.

  bool operator==(const AccumulationState&) const = default;
};

// The batches of one training loop. The count goes on from epoch to epoch unless a loader's end
// resets it; a loop that is left early leaves its gradients to the next. Not thread-safe.
class Accumulation {
 public:
  // Throws std::invalid_argument if num_steps < 1.
  explicit Accumulation(const GradientAccumulation& options);

  // A batch begins; `end_of_dataloader`: the last one of the loader that is being iterated.
  void begin(bool end_of_dataloader);

  // Whether the optimizer steps at this batch. True before the first one.
  bool sync_gradients() const { return sync_; }
  // Whether a backward pass of this batch reduces over the processes.
  bool reduces() const { return sync_ || options_.sync_each_batch; }
  // What the loss of this batch is divided by.
  int loss_divisor() const { return short_window() ? window_ : options_.num_steps; }
  // What the gradients of the window's earlier batches, which were divided by num_steps, are
  // multiplied by before this batch's are added.
  double earlier_scale() const {
    return short_window() ? static_cast<double>(options_.num_steps) / window_ : 1;
  }

  const GradientAccumulation& options() const { return options_; }
  // From the next batch on. Throws std::invalid_argument if num_steps < 1.
  void set_num_steps(int num_steps);
  // For the running batch.
  void set_sync_gradients(bool sync) { sync_ = sync; }

  // Setting it goes on in that window, with the gradients that it has added up; num_steps stays
  // what it is here. Throws std::invalid_argument if a number is negative.
  AccumulationState state() const {
    return {.step = step_, .window = sync_ ? 0 : window_, .num_steps = options_.num_steps};
  }
  void set_state(const AccumulationState& state);

 private:
  bool short_window() const {
    return sync_ && 0 < window_ && window_ < options_.num_steps && !options_.full_window_scaling;
  }

  GradientAccumulation options_;
  std::int64_t step_ = 0;
  int window_ = 0;  // Batches since the last step, this one included.
  bool sync_ = true;
};

}  // namespace accel
