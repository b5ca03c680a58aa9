// Loss scaling in one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "accel/accelerator.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/weight.h"

namespace accel::runtime {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double train(MixedPrecision precision, bool clip) {
  torch::manual_seed(3);
  torch::set_num_threads(1);
  Accelerator accelerator(
      {.gradient_accumulation = {.num_steps = 2}, .mixed_precision = precision});
  torch::nn::Sequential net(torch::nn::Linear(8, 32), torch::nn::ReLU(), torch::nn::Linear(32, 1));
  auto [model, optimizer] = accelerator.prepare(net, torch::optim::Adam(net->parameters(), 0.01));
  double loss = 0;
  for (int batch = 0; batch < 100; ++batch) {
    auto step = accelerator.accumulate(model);
    const torch::Tensor x = torch::randn({16, 8});
    const torch::Tensor error = (model(x) - x.sum(1, true)).square().mean();
    accelerator.backward(error);
    if (clip && accelerator.sync_gradients()) accelerator.clip_grad_norm_(net->parameters(), 1);
    optimizer.step();
    optimizer.zero_grad();
    loss = error.item<double>();
  }
  return loss;
}

TEST(LossScalerTest, TrainsAsFullPrecisionDoes) {
  for (bool clip : {false, true}) {
    const double full = train(MixedPrecision::kNo, clip);
    EXPECT_LT(full, 1);
    EXPECT_NEAR(train(MixedPrecision::kBf16, clip), full, 0.2);
    EXPECT_NEAR(train(MixedPrecision::kFp16, clip), full, 0.05);
  }
}

// Makes a step of an optimizer of any class. Returns true if it was not skipped.
bool makes_a_step(OptimizerRef optimizer) {
  optimizer.step();
  const bool skipped = optimizer.step_was_skipped();
  optimizer.zero_grad();
  return !skipped;
}

TEST(OptimizerRefTest, IsTheOptimizerThatItWasMadeFrom) {
  Accelerator accelerator({.mixed_precision = MixedPrecision::kFp16});
  auto weight = std::make_shared<Weight>(), other = std::make_shared<Weight>();
  auto [model, sgd, second, adam] =
      accelerator.prepare(weight, torch::optim::SGD(weight->parameters(), 0.5), other,
                          torch::optim::Adam(other->parameters(), 0.1));
  const std::vector<OptimizerRef> optimizers{sgd, adam};
  for (float x : {1.0f, kInfinity}) {
    accelerator.backward(model(input(x)) + second(input(x)));
    for (const OptimizerRef& optimizer : optimizers) {
      EXPECT_EQ(makes_a_step(optimizer), std::isfinite(x));
    }
  }
  EXPECT_FLOAT_EQ(weight->w.item<float>(), -0.5);
  EXPECT_NEAR(other->w.item<float>(), -0.1, 1e-4);
  EXPECT_TRUE(sgd.step_was_skipped());
  EXPECT_FALSE(weight->w.grad().defined()) << "zeroed through the OptimizerRef";
  EXPECT_EQ(&*optimizers[1], &*adam);
  EXPECT_EQ(optimizers[0]->param_groups().size(), 1u);
  EXPECT_THROW(OptimizerRef().step(), std::logic_error);
}

TEST(LossScalerTest, AStepWithAnOverflowIsSkipped) {
  Accelerator accelerator({.mixed_precision = MixedPrecision::kFp16});
  auto weight = std::make_shared<Weight>();
  auto sgd =
      std::make_shared<torch::optim::SGD>(weight->parameters(), torch::optim::SGDOptions(0.5));
  auto [model, optimizer, scheduler] =
      accelerator.prepare(weight, sgd, Scheduler(sgd, step_schedule(1, 0.5)));
  std::vector<float> weights, rates, scales;
  for (float x : {1.0f, kInfinity, 1.0f, -kInfinity, std::nanf(""), 1.0f}) {
    const torch::Tensor loss = model(input(x));
    accelerator.backward(loss);
    // The scale cannot be computed from an infinite loss.
    scales.push_back(std::isfinite(x) ? weight->w.grad().item<float>() / x : 0);
    optimizer.step();
    scheduler.step();
    EXPECT_EQ(optimizer.step_was_skipped(), !std::isfinite(x));
    EXPECT_EQ(accelerator.optimizer_step_was_skipped(), !std::isfinite(x));
    optimizer.zero_grad();
    weights.push_back(weight->w.item<float>());
    rates.push_back(static_cast<float>(scheduler.get_last_lr()[0]));
  }
  EXPECT_THAT(weights, testing::ElementsAre(-0.5, -0.5, -0.75, -0.75, -0.75, -0.875));
  EXPECT_THAT(rates, testing::ElementsAre(0.25, 0.25, 0.125, 0.125, 0.125, 0.0625));
  EXPECT_THAT(scales, testing::ElementsAre(65536, 0, 32768, 0, 0, 8192));
}

TEST(LossScalerTest, OptimizersOfOneRoundUndoTheSameScale) {
  Accelerator accelerator(
      {.mixed_precision = MixedPrecision::kFp16, .loss_scaling = {.growth_interval = 2}});
  auto one = std::make_shared<Weight>(), two = std::make_shared<Weight>();
  auto [first, second, sgd_one, sgd_two] =
      accelerator.prepare(one, two, torch::optim::SGD(one->parameters(), 1.0),
                          torch::optim::SGD(two->parameters(), 1.0));
  for (float x : {kInfinity, 1.0f, 1.0f, 1.0f}) {
    accelerator.backward(first(input(x)));
    accelerator.backward(second(input(1)));
    sgd_one.step();
    sgd_two.step();
    EXPECT_EQ(sgd_one.step_was_skipped(), x == kInfinity);
    EXPECT_FALSE(sgd_two.step_was_skipped());
    EXPECT_EQ(accelerator.optimizer_step_was_skipped(), x == kInfinity);
    sgd_one.zero_grad();
    sgd_two.zero_grad();
  }
  EXPECT_EQ(one->w.item<float>(), -3);
  EXPECT_EQ(two->w.item<float>(), -4);
}

TEST(LossScalerTest, ClippingUnscalesOnceAndOnlyWhatItClips) {
  Accelerator accelerator({.mixed_precision = MixedPrecision::kFp16});
  auto one = std::make_shared<Weight>(), two = std::make_shared<Weight>();
  auto [first, second, sgd_one, sgd_two] =
      accelerator.prepare(one, two, torch::optim::SGD(one->parameters(), 1.0),
                          torch::optim::SGD(two->parameters(), 1.0));
  accelerator.backward(first(input(3)) + second(input(5)));
  EXPECT_FLOAT_EQ(accelerator.clip_grad_norm_(one->parameters(), 2).item<float>(), 3);
  EXPECT_NEAR(accelerator.clip_grad_norm_(one->parameters(), 1).item<float>(), 2, 1e-5);
  EXPECT_EQ(two->w.grad().item<float>(), 5 * 65536);
  accelerator.clip_grad_value_(two->parameters(), 4);
  EXPECT_FLOAT_EQ(two->w.grad().item<float>(), 4);
  sgd_one.step();
  sgd_two.step();
  EXPECT_NEAR(one->w.item<float>(), -1, 1e-5);
  EXPECT_FLOAT_EQ(two->w.item<float>(), -4);
  sgd_one.zero_grad();
  accelerator.backward(first(input(2)));
  accelerator.unscale_gradients(sgd_one);
  accelerator.unscale_gradients();
  EXPECT_FLOAT_EQ(one->w.grad().item<float>(), 2);
}

TEST(LossScalerTest, ATiedParameterIsUnscaledOnce) {
  Accelerator accelerator({.mixed_precision = MixedPrecision::kFp16});
  auto weight = std::make_shared<Weight>();
  auto [model, optimizer] =
      accelerator.prepare(weight, torch::optim::SGD({weight->w, weight->w}, 1.0));
  accelerator.backward(model(input(3)));
  accelerator.unscale_gradients();
  EXPECT_EQ(weight->w.grad().item<float>(), 3);
}

TEST(LossScalerTest, AParameterOfTwoOptimizersIsScaledOnce) {
  Accelerator accelerator({.gradient_accumulation = {.num_steps = 2},
                           .mixed_precision = MixedPrecision::kFp16,
                           .loss_scaling = {.init_scale = 64, .growth_interval = 1}});
  auto weight = std::make_shared<Weight>();
  auto [model, first, second] =
      accelerator.prepare(weight, torch::optim::SGD(weight->parameters(), 1.0),
                          torch::optim::SGD(weight->parameters(), 1.0));
  for (int batch = 0; batch < 8; ++batch) {
    auto window = accelerator.accumulate(model);
    accelerator.backward(model(input(3)));
    if (!accelerator.sync_gradients()) continue;
    EXPECT_EQ(accelerator.clip_grad_norm_(weight->parameters(), 100).item<float>(), 3);
    (batch < 4 ? first : second).step();
    first.zero_grad();
  }
  EXPECT_EQ(weight->w.item<float>(), -12);
}

TEST(LossScalerTest, RefusesWhatWouldSpoilGradients) {
  Accelerator accelerator(
      {.gradient_accumulation = {.num_steps = 2}, .mixed_precision = MixedPrecision::kFp16});
  auto weight = std::make_shared<Weight>();
  auto [model, optimizer] =
      accelerator.prepare(weight, torch::optim::SGD(weight->parameters(), 1.0));
  {
    auto step = accelerator.accumulate(model);
    accelerator.backward(model(input(1)));
    EXPECT_THROW(accelerator.clip_grad_norm_(weight->parameters(), 1), std::logic_error);
    EXPECT_THROW(accelerator.unscale_gradients(), std::logic_error);
  }
  auto step = accelerator.accumulate(model);
  accelerator.backward(model(input(1)));
  EXPECT_THROW(optimizer.step([] { return torch::Tensor(); }), std::logic_error);
  weight->to(torch::kHalf);
  weight->w.mutable_grad() = torch::ones({1}, torch::kHalf);
  EXPECT_THROW(optimizer.step(), std::invalid_argument);
}

// Two optimizers step one after the other in each window, as in a GAN.
TEST(LossScalerTest, AWindowOfTwoOptimizersHasOneScale) {
  for (const bool overflow : {false, true}) {
    Accelerator accelerator({.gradient_accumulation = {.num_steps = 2},
                             .mixed_precision = MixedPrecision::kFp16,
                             .loss_scaling = {.init_scale = 64, .growth_interval = 1}});
    auto one = std::make_shared<Weight>(), two = std::make_shared<Weight>();
    auto [first, second, sgd_one, sgd_two] =
        accelerator.prepare(one, two, torch::optim::SGD(one->parameters(), 1.0),
                            torch::optim::SGD(two->parameters(), 1.0));
    std::vector<float> scales;
    for (int batch = 0; batch < 6; ++batch) {
      auto window = accelerator.accumulate(first, second);
      accelerator.backward(first(input(overflow && batch == 1 ? kInfinity : 1)));
      sgd_one.step();
      sgd_one.zero_grad();
      accelerator.backward(second(input(1)));
      if (batch % 2 == 1) scales.push_back(two->w.grad().item<float>());
      sgd_two.step();
      sgd_two.zero_grad();
    }
    EXPECT_EQ(one->w.item<float>(), overflow ? -2 : -3);
    EXPECT_EQ(two->w.item<float>(), -3);
    EXPECT_THAT(scales,
                overflow ? testing::ElementsAre(64, 32, 64) : testing::ElementsAre(64, 128, 256))
        << "it moves once for each window";
  }
}

// One optimizer steps every time and changes the scale, the other steps every second time.
TEST(LossScalerTest, GradientsThatWaitFollowTheScale) {
  for (const bool overflow : {false, true}) {
    Accelerator accelerator(
        {.mixed_precision = MixedPrecision::kFp16, .loss_scaling = {.growth_interval = 1}});
    auto one = std::make_shared<Weight>(), two = std::make_shared<Weight>();
    auto [first, second, sgd_one, sgd_two] =
        accelerator.prepare(one, two, torch::optim::SGD(one->parameters(), 1.0),
                            torch::optim::SGD(two->parameters(), 1.0));
    for (int batch = 0; batch < 4; ++batch) {
      accelerator.backward(first(input(overflow ? kInfinity : 1)));
      accelerator.backward(second(input(1)));
      sgd_one.step();
      sgd_one.zero_grad();
      if (batch % 2 == 0) continue;
      sgd_two.step();
      sgd_two.zero_grad();
    }
    EXPECT_EQ(two->w.item<float>(), -4);
  }
}

// Gradients that are not zeroed add up over the steps, as in other precisions.
TEST(LossScalerTest, GradientsOfAStepThatAreNotZeroedAddUp) {
  Accelerator accelerator({.mixed_precision = MixedPrecision::kFp16});
  auto weight = std::make_shared<Weight>();
  auto [model, optimizer] =
      accelerator.prepare(weight, torch::optim::SGD(weight->parameters(), 1.0));
  for (const float expected : {-1.0f, -3.0f, -6.0f}) {
    accelerator.backward(model(input(1)));
    optimizer.step();
    EXPECT_EQ(weight->w.item<float>(), expected);
  }
}

// Many steps inside one batch of accumulate().
TEST(LossScalerTest, OverflowsInOneBatchEndToo) {
  Accelerator accelerator({.mixed_precision = MixedPrecision::kFp16});
  auto weight = std::make_shared<Weight>();
  auto [model, optimizer] =
      accelerator.prepare(weight, torch::optim::SGD(weight->parameters(), 1.0));
  auto window = accelerator.accumulate(model);
  float scale = 65536;
  for (int step = 0; step < 20; ++step) {
    optimizer.zero_grad();
    accelerator.backward(model(input(scale > 1024 ? kInfinity : 1)));
    optimizer.step();
    if (!optimizer.step_was_skipped()) break;
    optimizer.zero_grad();
    accelerator.backward(model(input(0)) + weight->w);
    scale = weight->w.grad().item<float>();
  }
  EXPECT_LE(scale, 1024);
}

TEST(LossScalerTest, AnOptimizerThatIsNotPreparedIsRefused) {
  Accelerator accelerator({.mixed_precision = MixedPrecision::kFp16});
  auto weight = std::make_shared<Weight>();
  auto model = accelerator.prepare(weight);
  torch::optim::SGD optimizer(weight->parameters(), 1.0);
  EXPECT_THAT(error_of<std::logic_error>([&] { accelerator.backward(model(input(1))); }),
              testing::HasSubstr("prepare() the optimizer"));
  EXPECT_FALSE(weight->w.grad().defined());
}

TEST(LossScalerTest, ItsStateCountsTheRunningRound) {
  GradScaler scaler({.growth_interval = 3});
  torch::Tensor w = torch::ones({1}, torch::requires_grad());
  auto sgd = std::make_shared<torch::optim::SGD>(std::vector{w}, torch::optim::SGDOptions(0.1));
  scaler.add(sgd);
  scaler.scale(w.sum(), {}).backward();
  EXPECT_TRUE(scaler.may_step(*sgd));
  EXPECT_EQ(scaler.state(), (LossScaleState{65536, 1}));
  scaler.set_state({1024, 2});
  scaler.scale(w.sum(), {}).backward();
  EXPECT_TRUE(scaler.may_step(*sgd));
  EXPECT_EQ(scaler.state(), (LossScaleState{2048, 0}));
}

}  // namespace
}  // namespace accel::runtime
