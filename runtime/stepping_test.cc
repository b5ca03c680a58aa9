// Which gradients optimizers step on: those that backward() has reduced and weighed.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "runtime/accelerator.h"
#include "runtime/testing/training.h"

namespace accel {
namespace {

using torch::data::samplers::SequentialSampler;

// y = w * x: the gradient of w is x.
struct Weight : torch::nn::Module {
  torch::Tensor w = register_parameter("w", torch::zeros({1}));
  torch::Tensor forward(const torch::Tensor& x) { return w * x; }
};

torch::Tensor input(float x) { return torch::full({1}, x); }

// A prepared weight and its optimizer, of rate 1.
struct Training {
  explicit Training(Accelerator& accelerator)
      : model(accelerator.prepare(weight)),
        optimizer(accelerator.prepare(torch::optim::SGD(weight->parameters(), 1.0))) {}

  std::shared_ptr<Weight> weight = std::make_shared<Weight>();
  Model<std::shared_ptr<Weight>> model;
  Optimizer<torch::optim::SGD> optimizer;

  float value() const { return weight->w.item<float>(); }
};

// Upstream's weight: each batch counts a quarter, also those of a window that ends early.
TEST(ForcedStepTest, BatchesCountAlike) {
  Accelerator accelerator({.gradient_accumulation = {.num_steps = 4}});
  Training training(accelerator);
  for (int i = 0; i < 2; ++i) {
    auto batch = accelerator.accumulate(training.model);
    if (i == 1) accelerator.set_sync_gradients(true);
    accelerator.backward(training.model(input(4)));
    training.optimizer.step();
  }
  EXPECT_EQ(training.value(), -2);
}

// `count` numbers 4, 8, 12…, one per batch.
auto numbers(std::int64_t count) {
  return make_data_loader<SequentialSampler>(
      torch::data::datasets::TensorDataset(4 * torch::arange(1, count + 1, torch::kFloat))
          .map(torch::data::transforms::Stack<torch::data::TensorExample>()),
      1);
}

TEST(ShortWindowTest, EveryOptimizersGradientsAreWeighed) {
  for (const bool one_named : {false, true}) {
    Accelerator accelerator({.gradient_accumulation = {.num_steps = 4}});
    Training named(accelerator), other(accelerator);
    auto loader = accelerator.prepare(numbers(6));
    for (auto& batch : loader) {
      auto window = one_named ? accelerator.accumulate(named.model) : accelerator.accumulate();
      for (Training* each : {&named, &other}) {
        accelerator.backward(each->model(batch.data));
        each->optimizer.step();
        each->optimizer.zero_grad();
      }
    }
    for (const Training* each : {&named, &other}) EXPECT_EQ(each->value(), -10 - 22);
  }
}

TEST(SameBatchTest, ModelsThatAccumulateOneAfterTheOtherShareTheirWindows) {
  Accelerator accelerator({.gradient_accumulation = {.num_steps = 2}});
  Training first(accelerator), second(accelerator);
  auto loader = accelerator.prepare(numbers(5));
  for (auto& batch : loader) {
    for (Training* each : {&first, &second}) {
      auto window = accelerator.accumulate(each->model);
      accelerator.backward(each->model(batch.data));
      each->optimizer.step();
      each->optimizer.zero_grad();
    }
  }
  for (const Training* each : {&first, &second}) EXPECT_EQ(each->value(), -6 - 14 - 20);
}

// Parts of a batch that is read at once are batches of their own.
TEST(SameBatchTest, OneModelMayAccumulateSeveralTimes) {
  Accelerator accelerator(
      {.gradient_accumulation = {.num_steps = 2, .sync_with_dataloader = false}});
  Training training(accelerator);
  auto loader = accelerator.prepare(numbers(2));
  for (auto& batch : loader) {
    for (int part = 0; part < 2; ++part) {
      auto window = accelerator.accumulate(training.model);
      accelerator.backward(training.model(batch.data));
      training.optimizer.step();
      training.optimizer.zero_grad();
    }
  }
  EXPECT_EQ(training.value(), -4 - 8);
}

// `->` reaches what neither windows nor the loss scale are about.
template <typename Optim>
concept steps_by_arrow = requires(Optim optimizer) {
  optimizer->step();
}
|| requires(Optim optimizer) { optimizer->zero_grad(); };

TEST(ArrowTest, ReachesAllButTheStep) {
  static_assert(!steps_by_arrow<Optimizer<torch::optim::Adam>>);
  static_assert(!steps_by_arrow<LrScheduler<torch::optim::StepLR>>);
  Accelerator accelerator;
  const Training training(accelerator);
  const auto& sgd = training.optimizer;
  EXPECT_EQ(sgd->param_groups()[0].options().get_lr(), 1);
  sgd->param_groups()[0].options().set_lr(0.5);
  sgd->add_param_group(std::vector{torch::zeros({2}, torch::requires_grad())});
  EXPECT_EQ(sgd->param_groups().size(), 2u);
  EXPECT_EQ(sgd->size(), 2u);
  EXPECT_TRUE(sgd->state().empty());
  EXPECT_EQ(static_cast<const torch::optim::SGDOptions&>(sgd->defaults()).momentum(), 0);
  EXPECT_EQ((*sgd).param_groups()[0].options().get_lr(), 0.5);
}

}  // namespace
}  // namespace accel
