// Schedulers follow the steps of a prepared optimizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "accel/accelerator.h"
#include "accel/scheduler.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

TEST(SchedulerTest, FollowsTheOptimizer) {
  Accelerator accelerator({.gradient_accumulation = {.num_steps = 2}});
  torch::nn::Linear net(1, 1);
  auto sgd = std::make_shared<torch::optim::SGD>(net->parameters(), torch::optim::SGDOptions(0.8));
  auto [scheduler, model, optimizer] =
      accelerator.prepare(Scheduler(sgd, step_schedule(1, 0.5)), net, sgd);
  std::vector<double> rates;
  for (int batch = 0; batch < 4; ++batch) {
    auto step = accelerator.accumulate(model);
    scheduler.step();
    rates.push_back(optimizer->param_groups()[0].options().get_lr());
  }
  EXPECT_THAT(rates, testing::ElementsAre(0.8, 0.4, 0.4, 0.2));
  EXPECT_THAT(accelerator.prepare(scheduler).get_last_lr(), testing::ElementsAre(0.2));
  EXPECT_EQ(scheduler.state(), (SchedulerState{.last_epoch = 2, .step_count = 5}));
  scheduler.set_state({.last_epoch = 3, .step_count = 7});
  EXPECT_THAT(scheduler.get_last_lr(), testing::ElementsAre(0.1));
}

// LibTorch's StepLR reduces the rate first at step step_size + 1.
TEST(TorchSchedulerTest, FollowsTheOptimizer) {
  Accelerator accelerator({.gradient_accumulation = {.num_steps = 2}});
  torch::nn::Linear net(1, 1);
  auto [model, optimizer] = accelerator.prepare(net, torch::optim::SGD(net->parameters(), 0.8));
  auto scheduler = accelerator.prepare(torch::optim::StepLR(*optimizer, 1, 0.5));
  auto again = accelerator.prepare(scheduler);
  static_assert(std::is_same_v<decltype(again), TorchScheduler<torch::optim::StepLR>>);
  std::vector<double> rates;
  for (int batch = 0; batch < 6; ++batch) {
    auto step = accelerator.accumulate(model);
    (batch < 4 ? scheduler : again).step();
    rates.push_back(optimizer->param_groups()[0].options().get_lr());
  }
  EXPECT_THAT(rates, testing::ElementsAre(0.8, 0.8, 0.8, 0.4, 0.4, 0.2));
  Accelerator unlinked({.step_scheduler_with_optimizer = false});
  auto pointer = unlinked.prepare(std::make_shared<torch::optim::StepLR>(*optimizer, 1, 0.5));
  pointer.step();
  pointer.step();
  EXPECT_EQ(optimizer->param_groups()[0].options().get_lr(), 0.1);
}

TEST(SchedulerTest, OneCycleMovesTheMomentumToo) {
  torch::nn::Linear net(1, 1);
  auto adam = std::make_shared<torch::optim::Adam>(net->parameters());
  Scheduler scheduler(adam, one_cycle_schedule({.max_lr = 0.5, .total_steps = 10}));
  const auto& options = static_cast<torch::optim::AdamOptions&>(adam->param_groups()[0].options());
  EXPECT_NEAR(options.lr(), 0.02, 1e-12);
  EXPECT_NEAR(std::get<0>(options.betas()), 0.95, 1e-12);
  for (int step = 0; step < 2; ++step) scheduler.step();
  EXPECT_NEAR(options.lr(), 0.5, 1e-12);
  EXPECT_NEAR(std::get<0>(options.betas()), 0.85, 1e-12);
  for (int step = 2; step < 10; ++step) scheduler.step();
  EXPECT_THROW(scheduler.step(), std::out_of_range);
}

}  // namespace
}  // namespace accel::runtime
