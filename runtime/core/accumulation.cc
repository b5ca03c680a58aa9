#include "runtime/core/accumulation.h"

#include <stdexcept>
#include <string>

namespace accel {

Accumulation::Accumulation(const GradientAccumulation& options) : options_(options) {
  if (options_.num_steps < 1) {
    throw std::invalid_argument("gradient_accumulation.num_steps = " +
                                std::to_string(options_.num_steps) + " should be at least 1");
  }
}

void Accumulation::begin(bool end_of_dataloader) {
  window_ = sync_ ? 1 : window_ + 1;
  if (options_.sync_with_dataloader && end_of_dataloader) {
    step_ = 0;
    sync_ = true;
  } else {
    step_ = (step_ + 1) % options_.num_steps;
    sync_ = step_ == 0;
  }
}

}  // namespace accel
