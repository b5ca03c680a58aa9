#pragma once

#include <memory>
#include <stdexcept>
#include <utility>

#include "runtime/core/accumulation.h"
#include "runtime/core/scheduler_steps.h"
#include "runtime/optim/prepared_scheduler.h"
#include "runtime/precision/loss_scaler.h"

namespace torch::optim {
class LRScheduler;
}

namespace accel {

// How a scheduler of LibTorch's follows the optimizers.
class LrFollower : public PreparedScheduler {
 public:
  LrFollower(std::shared_ptr<torch::optim::LRScheduler> scheduler, const SchedulerOptions& options,
             std::shared_ptr<const Accumulation> accumulation,
             std::shared_ptr<const LossScaler> scaler)
      : scheduler_(std::move(scheduler)),
        options_(options),
        accumulation_(std::move(accumulation)),
        scaler_(std::move(scaler)) {}

  void step();

  SchedulerState state() const override;
  void set_state(const SchedulerState& state) override;

  bool follows(const torch::optim::LRScheduler* scheduler) const {
    return scheduler_.get() == scheduler;
  }

 private:
  const std::shared_ptr<torch::optim::LRScheduler> scheduler_;
  const SchedulerOptions options_;
  const std::shared_ptr<const Accumulation> accumulation_;
  const std::shared_ptr<const LossScaler> scaler_;
  SchedulerSteps steps_{std::nullopt};
};

// A prepared scheduler of torch::optim, such as StepLR: a holder; `*` is the scheduler itself.
// step() follows the optimizers as accel::Scheduler's does. LibTorch's schedulers refer to their
// optimizer, so make one over the prepared optimizer, which outlives it:
//
//   torch::optim::StepLR step_lr(*optimizer, 30);
//   auto scheduler = accelerator.prepare(step_lr);
//
// Checkpoints hold how often it has stepped; the rates, from which it goes on, are the optimizer's.
// What a class of one's own keeps beside these is for register_for_checkpointing(). LibTorch's
// schedulers cannot tell their optimizer: a skipped step of any optimizer holds them back.
template <typename Torch>
class LrScheduler {
 public:
  // No scheduler yet, for members that are assigned later. Throws std::logic_error where it is
  // used.
  LrScheduler() = default;
  LrScheduler(std::shared_ptr<Torch> scheduler, std::shared_ptr<LrFollower> follower)
      : scheduler_(std::move(scheduler)), follower_(std::move(follower)) {}

  void step() {
    expect_assigned();
    follower_->step();
  }

  Torch& operator*() const {
    expect_assigned();
    return *scheduler_;
  }
  // LibTorch's step(), all that there would be, goes round accumulation and skipped steps.
  Torch* operator->() const = delete;  // Write scheduler.step() instead of scheduler->step().

 private:
  void expect_assigned() const {
    if (scheduler_ == nullptr) {
      throw std::logic_error("this scheduler is empty: assign what prepare() returns first");
    }
  }

  std::shared_ptr<Torch> scheduler_;
  std::shared_ptr<LrFollower> follower_;
};

}  // namespace accel
