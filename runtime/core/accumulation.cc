#include "runtime/core/accumulation.h"

#include <stdexcept>
#include <string>

namespace accel {

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

void Accumulation::begin(bool end_of_dataloader) {
  window_ = sync_ ? 1 : window_ + 1;
  if (options_.sync_with_dataloader && end_of_dataloader) {
    step_ = 0;
    sync_ = true;
  } else {
    ++step_;
    sync_ = step_ % options_.num_steps == 0;
  }
}

void Accumulation::set_state(const AccumulationState& state) {
  if (state.step < 0 || state.window < 0) {
    throw std::invalid_argument("an accumulation step of " + std::to_string(state.step) +
                                " in a window of " + std::to_string(state.window) + " cannot be");
  }
  step_ = state.step;
  window_ = state.window;
  sync_ = window_ == 0;
}

}  // namespace accel
