#include "runtime/optim/any_torch_scheduler.h"

#include <limits>
#include <stdexcept>
#include <string>

#include "runtime/optim/libtorch.h"

namespace accel::runtime {
namespace {

// LibTorch's count of steps is a protected member, which only a derived class can name.
struct StepCount : torch::optim::LRScheduler {
  static unsigned& of(torch::optim::LRScheduler& scheduler) {
    return scheduler.*(&StepCount::step_count_);
  }
};

}  // namespace

void AnyTorchScheduler::step() {
  const std::int64_t before = steps_.last_epoch();
  steps_.step(options_, accumulation_->sync_gradients(),
              scaler_ != nullptr && scaler_->any_step_was_skipped());
  for (std::int64_t i = before; i < steps_.last_epoch(); ++i) scheduler_->step();
}

SchedulerState AnyTorchScheduler::state() const {
  SchedulerState state = steps_.state();
  state.libtorch_step_count = StepCount::of(*scheduler_);
  return state;
}

void AnyTorchScheduler::set_state(const SchedulerState& state) {
  const std::int64_t count = state.libtorch_step_count.value_or(-1);
  if (count < 0 || count > std::numeric_limits<unsigned>::max()) {
    throw std::invalid_argument("a scheduler of LibTorch cannot continue after " +
                                std::to_string(count) + " steps");
  }
  steps_.set_state(state);
  StepCount::of(*scheduler_) = static_cast<unsigned>(count);
}

}  // namespace accel::runtime
