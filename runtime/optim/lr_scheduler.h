#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/core/accumulation.h"
#include "runtime/core/scheduler_steps.h"
#include "runtime/precision/loss_scaler.h"

namespace accel {

// A prepared scheduler of torch::optim, such as StepLR: a holder, which `->` reaches. step()
// follows the optimizers as accel::Scheduler's does. LibTorch's schedulers refer to their
// optimizer, so make one over the prepared optimizer, which outlives it:
//
//   torch::optim::StepLR step_lr(*optimizer, 30);
//   auto scheduler = accelerator.prepare(step_lr);
//
// LibTorch can neither save where they are nor tell their optimizer: checkpoints do not hold them,
// and a skipped step of any optimizer holds them back. accel::Scheduler has neither limit.
template <typename Torch>
class LrScheduler {
 public:
  LrScheduler(std::shared_ptr<Torch> scheduler, const SchedulerOptions& options,
              std::shared_ptr<const Accumulation> accumulation,
              std::shared_ptr<const LossScaler> scaler)
      : scheduler_(std::move(scheduler)),
        options_(options),
        accumulation_(std::move(accumulation)),
        scaler_(std::move(scaler)) {}

  void step() {
    const std::int64_t before = steps_->last_epoch();
    steps_->step(options_, accumulation_->sync_gradients(),
                 scaler_ != nullptr && scaler_->any_step_was_skipped());
    for (std::int64_t i = before; i < steps_->last_epoch(); ++i) scheduler_->step();
  }

  Torch* operator->() const { return scheduler_.get(); }

 private:
  std::shared_ptr<Torch> scheduler_;
  SchedulerOptions options_;
  std::shared_ptr<const Accumulation> accumulation_;
  std::shared_ptr<const LossScaler> scaler_;
  std::shared_ptr<SchedulerSteps> steps_ = std::make_shared<SchedulerSteps>(std::nullopt);
};

}  // namespace accel
