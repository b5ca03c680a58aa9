// Mixed precision in one process: autocast, and the scaling of losses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "runtime/accelerator.h"
#include "runtime/testing/training.h"

namespace accel {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Everything that a model may return.
struct Outputs : torch::nn::Module {
  using Nested = std::tuple<torch::Tensor, std::optional<std::vector<torch::Tensor>>,
                            std::map<std::string, std::pair<torch::Tensor, int>>>;

  torch::nn::Linear linear = register_module("linear", torch::nn::Linear(4, 4));
  at::ScalarType computed_in = at::kLong;

  Nested forward(const torch::Tensor& x) {
    const torch::Tensor y = linear(x);
    computed_in = y.scalar_type();
    return {
        y, std::vector{y, x.to(torch::kDouble), torch::Tensor()}, {{"a", {y.to(at::kHalf), 7}}}};
  }
};

TEST(AutocastTest, ModelsComputeInTheGivenPrecisionAndReturnFp32) {
  const std::map<MixedPrecision, at::ScalarType> expected{{MixedPrecision::kNo, at::kFloat},
                                                          {MixedPrecision::kFp16, at::kHalf},
                                                          {MixedPrecision::kBf16, at::kBFloat16}};
  for (const auto& [precision, dtype] : expected) {
    Accelerator accelerator({.mixed_precision = precision});
    auto model = accelerator.prepare(std::make_shared<Outputs>());
    auto [y, list, map] = model(torch::randn({2, 4}));
    EXPECT_EQ(model->computed_in, dtype);
    EXPECT_EQ(y.scalar_type(), at::kFloat);
    EXPECT_EQ(list->at(0).scalar_type(), at::kFloat);
    EXPECT_EQ(list->at(1).scalar_type(), at::kDouble);
    EXPECT_FALSE(list->at(2).defined());
    const bool converted = precision != MixedPrecision::kNo;
    EXPECT_EQ(map.at("a").first.scalar_type(), converted ? at::kFloat : at::kHalf);
    EXPECT_EQ(map.at("a").second, 7);
    EXPECT_EQ(model->linear->weight.scalar_type(), at::kFloat);
    EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  }
}

TEST(AutocastTest, TheLauncherMayChooseThePrecision) {
  setenv("ACCELERATE_MIXED_PRECISION", "bf16", 1);
  EXPECT_EQ(Accelerator().mixed_precision(), MixedPrecision::kBf16);
  setenv("ACCELERATE_MIXED_PRECISION", "no", 1);
  EXPECT_EQ(Accelerator({.mixed_precision = MixedPrecision::kFp16}).mixed_precision(),
            MixedPrecision::kFp16);
  unsetenv("ACCELERATE_MIXED_PRECISION");
}

std::tuple<bool, bool, at::ScalarType> autocast_state() {
  return {at::autocast::is_autocast_enabled(at::kCPU), at::autocast::is_autocast_cache_enabled(),
          at::autocast::get_autocast_dtype(at::kCPU)};
}

at::ScalarType product_type() {
  const torch::Tensor a = torch::ones({2, 2});
  return torch::mm(a, a).scalar_type();
}

TEST(AutocastTest, ScopesNestAndRestoreWhatWasBefore) {
  Accelerator accelerator({.mixed_precision = MixedPrecision::kBf16});
  at::autocast::set_autocast_dtype(at::kCPU, at::kHalf);
  const auto before = autocast_state();
  {
    auto outer = accelerator.autocast();
    EXPECT_EQ(product_type(), at::kBFloat16);
    {
      auto inner = accelerator.autocast({.enabled = false, .cache_enabled = false});
      EXPECT_EQ(product_type(), at::kFloat);
      EXPECT_FALSE(at::autocast::is_autocast_cache_enabled());
    }
    EXPECT_EQ(product_type(), at::kBFloat16);
    EXPECT_TRUE(at::autocast::is_autocast_cache_enabled());
  }
  EXPECT_EQ(autocast_state(), before);
  try {
    auto scope = accelerator.autocast();
    throw std::runtime_error("left");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(autocast_state(), before);
  Accelerator plain;
  auto scope = plain.autocast();
  EXPECT_EQ(product_type(), at::kFloat);
  EXPECT_EQ(at::autocast::increment_nesting(), 1) << "a scope was left open";
  at::autocast::decrement_nesting();
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
}

// Within a scope a parameter is cast once; after the outermost one its new values must count.
TEST(AutocastTest, TheNextForwardPassSeesTheStep) {
  Accelerator accelerator({.mixed_precision = MixedPrecision::kBf16});
  torch::nn::Linear net(torch::nn::LinearOptions(1, 1).bias(false));
  auto [model, optimizer] = accelerator.prepare(net, torch::optim::SGD(net->parameters(), 0.5));
  for (float expected : {1.0f, 0.5f, 0.0f}) {
    if (expected == 1) net->weight.detach().fill_(1);
    const torch::Tensor y = model(torch::ones({1, 1}));
    EXPECT_EQ(y.item<float>(), expected);
    optimizer.zero_grad();
    accelerator.backward(y.sum());
    optimizer.step();
  }
}

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

// One weight of value 0, whose gradient is the x it is multiplied by.
struct Weight : torch::nn::Module {
  torch::Tensor w = register_parameter("w", torch::zeros({1}));
  torch::Tensor forward(const torch::Tensor& x) { return w * x; }
};

torch::Tensor input(float x) { return torch::full({1}, x); }

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
    // An infinite loss hides the scale.
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
  EXPECT_FLOAT_EQ(accelerator.clip_grad_norm_(one->parameters(), 2), 3);
  EXPECT_NEAR(accelerator.clip_grad_norm_(one->parameters(), 1), 2, 1e-5);
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

TEST(LossScalerTest, ItsStateCountsTheRunningRound) {
  LossScaler scaler({.growth_interval = 3});
  torch::Tensor w = torch::ones({1}, torch::requires_grad());
  auto sgd = std::make_shared<torch::optim::SGD>(std::vector{w}, torch::optim::SGDOptions(0.1));
  scaler.add(sgd);
  scaler.scale(w.sum(), true).backward();
  EXPECT_TRUE(scaler.may_step(*sgd));
  EXPECT_EQ(scaler.state(), (LossScaleState{65536, 1}));
  scaler.set_state({1024, 2});
  scaler.scale(w.sum(), true).backward();
  EXPECT_TRUE(scaler.may_step(*sgd));
  EXPECT_EQ(scaler.state(), (LossScaleState{2048, 0}));
}

}  // namespace
}  // namespace accel
