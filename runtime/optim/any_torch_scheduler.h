#pragma once

#include <memory>
#include <stdexcept>
#include <utility>

#include "runtime/core/accumulation.h"
#include "runtime/core/schedule_counter.h"
#include "runtime/optim/checkpointed_scheduler.h"
#include "runtime/precision/grad_scaler.h"

namespace torch::optim {
class LRScheduler;
}

namespace accel::runtime {

// The part of a prepared LibTorch scheduler that does not depend on its class. Steps the scheduler
// when the optimizers step. Not thread-safe.
class AnyTorchScheduler : public CheckpointedScheduler {
 public:
  AnyTorchScheduler(std::shared_ptr<torch::optim::LRScheduler> scheduler,
                    const SchedulerOptions& options,
                    std::shared_ptr<const Accumulation> accumulation,
                    std::shared_ptr<const GradScaler> scaler)
      : scheduler_(std::move(scheduler)),
        options_(options),
        accumulation_(std::move(accumulation)),
        scaler_(std::move(scaler)) {}

  // Called once per batch.
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
  const std::shared_ptr<const GradScaler> scaler_;
  ScheduleCounter steps_{std::nullopt};
};

}  // namespace accel::runtime
