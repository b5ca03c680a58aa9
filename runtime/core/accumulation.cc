// The weight of each batch in a window of gradient accumulation.
//
// The gradients of a window's batches add up, and then the optimizer steps once. The step should
// follow the mean over the window, as if its batches were one large batch. So each loss is divided
// by the number of batches in the window. But that number is not known in time: the loss is divided
// when its backward pass begins, and a later batch may turn out to be the loader's last one, which
// ends the window early.
//
// begin() therefore assumes that the window will be complete, and divides by num_steps. If the
// window ends after k < num_steps batches, the last batch is divided by k. The gradients that have
// been accumulated are first multiplied by num_steps / k. For num_steps = 4 and a loader that ends
// at the third batch:
//
// clang-format off
//   batch   sync_gradients()   earlier_scale()   loss_divisor()   accumulated gradient
//     1         false                1                 4          g1/4
//     2         false                1                 4          g1/4 + g2/4
//     3         true                4/3                3          (g1 + g2 + g3) / 3
// clang-format on
//
// So only a short window costs a pass over the gradients. The obvious alternatives are worse.
// Keeping num_steps as the divisor, as Accelerate does (full_window_scaling), gives the batches of
// a short window a smaller weight. Dividing the sum before the optimizer steps costs a pass over
// the gradients in every window.
//
// The same correction makes set_num_steps() safe inside a window: the window takes the new
// divisor, and its gradients are scaled to it. A window that set_sync_gradients(true) ends
// early is not corrected, because the current loss may have been divided already. Its batches
// keep the weight 1/num_steps.
#include "runtime/core/accumulation.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace accel::runtime {

Accumulation::Accumulation(const GradientAccumulation& options) : options_(options) {
  set_num_steps(options.num_steps);
}

void Accumulation::set_num_steps(int num_steps) {
  if (num_steps < 1) {
    throw std::invalid_argument("gradient_accumulation.num_steps = " + std::to_string(num_steps) +
                                " should be at least 1");
  }
  options_.num_steps = num_steps;
}

// Two calls share a batch only if both come from the same step of a loader and name models, none of
// them twice. A model that is named again in one step makes several batches of the step's samples.
bool Accumulation::has_begun(const AccumulatedBatch& batch) const {
  return batch.loader_step != 0 && batch.loader_step == batch_.loader_step &&
         !batch.models.empty() && !batch_.models.empty() &&
         std::none_of(batch.models.begin(), batch.models.end(), [&](const void* model) {
           return std::find(batch_.models.begin(), batch_.models.end(), model) !=
                  batch_.models.end();
         });
}

void Accumulation::begin(const AccumulatedBatch& batch) {
  if (has_begun(batch)) {
    batch_.models.insert(batch_.models.end(), batch.models.begin(), batch.models.end());
    earlier_scale_ = 1;  // The call that began this batch has scaled the gradients of all models.
    return;
  }
  batch_ = batch;
  ++batches_;
  const int earlier_divisor = sync_ || window_ == 0 ? 0 : divisor_;
  window_ = sync_ ? 1 : window_ + 1;
  if (options_.sync_with_dataloader && batch.end_of_dataloader) {
    step_ = 0;
    sync_ = true;
  } else {
    ++step_;
    sync_ = step_ % options_.num_steps == 0;
  }
  due_ = sync_;
  const bool is_short = sync_ && window_ < options_.num_steps;
  const bool has_mean = !options_.full_window_scaling;
  divisor_ = is_short && has_mean ? window_ : options_.num_steps;
  earlier_scale_ =
      earlier_divisor > 0 && has_mean ? static_cast<double>(earlier_divisor) / divisor_ : 1;
}

void Accumulation::set_state(const AccumulationState& state) {
  if (state.step < 0 || state.window < 0) {
    throw std::invalid_argument("invalid accumulation state: step " + std::to_string(state.step) +
                                ", window " + std::to_string(state.window));
  }
  step_ = state.step;
  window_ = state.window;
  sync_ = due_ = window_ == 0;
  divisor_ = options_.num_steps;
  earlier_scale_ = 1;
  batch_ = {};
}

}  // namespace accel::runtime
