#include "accel/scheduler.h"

#include <stdexcept>
#include <utility>

#include "runtime/optim/libtorch.h"

namespace accel {
namespace {

using torch::optim::OptimizerOptions;

template <typename AdamOptions>
bool set_beta1(OptimizerOptions& options, double beta1) {
  auto* adam = dynamic_cast<AdamOptions*>(&options);
  if (adam != nullptr) adam->betas({beta1, std::get<1>(adam->betas())});
  return adam != nullptr;
}

void set_momentum(OptimizerOptions& options, double momentum) {
  if (auto* sgd = dynamic_cast<torch::optim::SGDOptions*>(&options)) {
    sgd->momentum(momentum);
  } else if (!set_beta1<torch::optim::AdamOptions>(options, momentum) &&
             !set_beta1<torch::optim::AdamWOptions>(options, momentum)) {
    throw std::invalid_argument(
        "the schedule changes the momentum, which this optimizer does not have: set "
        "cycle_momentum = false");
  }
}

}  // namespace

struct Scheduler::State : runtime::CheckpointedScheduler {
  State(std::shared_ptr<torch::optim::Optimizer> of, LrSchedule by)
      : optimizer(std::move(of)), schedule(std::move(by)), steps(schedule.total_steps) {}

  std::shared_ptr<torch::optim::Optimizer> optimizer;
  LrSchedule schedule;
  runtime::ScheduleCounter steps;
  // The initial rate of each group.
  std::vector<double> initial = {};
  runtime::SchedulerOptions options = {.step_with_optimizer = false};
  std::shared_ptr<const runtime::Accumulation> accumulation = nullptr;  // Null before prepare().
  std::shared_ptr<const runtime::GradScaler> scaler = nullptr;

  runtime::SchedulerState state() const override { return steps.state(); }
  void set_state(const runtime::SchedulerState& state) override {
    steps.set_state(state);
    apply();
  }

  void apply() {
    auto& groups = optimizer->param_groups();
    // The program may have added groups since the last call.
    for (std::size_t i = initial.size(); i < groups.size(); ++i) {
      initial.push_back(groups[i].options().get_lr());
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      groups[i].options().set_lr(schedule.rate(initial[i], steps.last_epoch()));
      if (schedule.momentum) {
        set_momentum(groups[i].options(), schedule.momentum(steps.last_epoch()));
      }
    }
  }
};

Scheduler::Scheduler(std::shared_ptr<torch::optim::Optimizer> optimizer, LrSchedule schedule) {
  state_ = std::make_shared<State>(std::move(optimizer), std::move(schedule));
  state_->apply();
}

void Scheduler::step() {
  const bool sync = state_->accumulation == nullptr || state_->accumulation->sync_gradients();
  const bool skipped =
      state_->scaler != nullptr && state_->scaler->step_was_skipped(*state_->optimizer);
  state_->steps.step(state_->options, sync, skipped);
  state_->apply();
}

std::vector<double> Scheduler::get_last_lr() const {
  std::vector<double> rates;
  for (const auto& group : state_->optimizer->param_groups()) {
    rates.push_back(group.options().get_lr());
  }
  return rates;
}

std::int64_t Scheduler::last_epoch() const { return state_->steps.last_epoch(); }

std::int64_t Scheduler::step_count() const { return state_->steps.step_count(); }

runtime::SchedulerState Scheduler::state() const { return state_->state(); }

void Scheduler::set_state(const runtime::SchedulerState& state) { state_->set_state(state); }

std::shared_ptr<runtime::CheckpointedScheduler> Scheduler::prepared() const { return state_; }

bool Scheduler::follow(const runtime::SchedulerOptions& options,
                       std::shared_ptr<const runtime::Accumulation> accumulation,
                       std::shared_ptr<const runtime::GradScaler> scaler) {
  if (state_->accumulation != nullptr) return false;
  state_->options = options;
  state_->accumulation = std::move(accumulation);
  state_->scaler = std::move(scaler);
  return true;
}

}  // namespace accel
