// The windows of accumulate(): which batches they hold, with which weights, and when they end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>

#include "accel/data_loader.h"
#include "accel/local_sgd.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/trained_weight.h"

namespace accel::runtime {
namespace {

using testing::HasSubstr;
using torch::data::samplers::SequentialSampler;

TEST(AccumulationStepsTest, AreSetByTheEnvironment) {
  setenv("ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "3", 1);
  EXPECT_EQ(Accelerator({.gradient_accumulation = {.num_steps = 2}}).gradient_accumulation_steps(),
            3);
  unsetenv("ACCELERATE_GRADIENT_ACCUMULATION_STEPS");
  EXPECT_EQ(Accelerator({.gradient_accumulation = {.num_steps = 2}}).gradient_accumulation_steps(),
            2);
}

TEST(AccumulationStepsTest, CanBeChanged) {
  Accelerator accelerator({.gradient_accumulation = {.num_steps = 3}});
  auto model = accelerator.prepare(torch::nn::Linear(1, 1));
  accelerator.set_gradient_accumulation_steps(2);
  EXPECT_EQ(accelerator.gradient_accumulation_steps(), 2);
  auto step = accelerator.accumulate(model);
  EXPECT_FALSE(accelerator.sync_gradients());
  accelerator.set_sync_gradients(true);
  EXPECT_TRUE(accelerator.sync_gradients());
  EXPECT_THROW(accelerator.set_gradient_accumulation_steps(0), std::invalid_argument);
}

TEST(ForcedStepTest, ReducesIfItIsAskedForBeforeBackward) {
  on_ranks(2, [] {
    Accelerator accelerator({.gradient_accumulation = {.num_steps = 2}});
    TrainedWeight training(accelerator);
    const auto pass = [&] { accelerator.backward(training.model(input(own_number(accelerator)))); };
    for (int i = 0; i < 2; ++i) {
      auto batch = accelerator.accumulate(training.model);
      if (i == 0) {
        accelerator.set_sync_gradients(true);
        pass();
        training.optimizer.step();
        EXPECT_EQ(training.value(), -1);  // Half the mean of 1 and 3.
        training.optimizer.zero_grad();
      } else {
        pass();
        EXPECT_EQ(training.weight->w.grad().item<float>(), 2)
            << "the count went on: a window of one";
      }
    }
  });
}

TEST(ForcedStepTest, IsRefusedAfterABackwardThatDidNotReduce) {
  on_ranks(2, [] {
    Accelerator accelerator({.gradient_accumulation = {.num_steps = 2}});
    TrainedWeight training(accelerator);
    {
      auto batch = accelerator.accumulate(training.model);
      accelerator.backward(training.model(input(own_number(accelerator))));
      accelerator.set_sync_gradients(true);
      EXPECT_THAT(error_of<std::logic_error>([&] { training.optimizer.step(); }),
                  HasSubstr("call set_sync_gradients(true) before backward()"));
    }
    EXPECT_THROW(training.optimizer.step(), std::logic_error);
    EXPECT_EQ(training.value(), 0);
    LocalSgd local_sgd(accelerator, training.model, 1);
    EXPECT_NO_THROW(training.optimizer.step()) << "each process steps by itself";
  });
}

// As in Accelerate, each batch has the weight 1/4, even in a window that ends early.
TEST(ForcedStepTest, BatchesHaveEqualWeight) {
  Accelerator accelerator({.gradient_accumulation = {.num_steps = 4}});
  TrainedWeight training(accelerator);
  for (int i = 0; i < 2; ++i) {
    auto batch = accelerator.accumulate(training.model);
    if (i == 1) accelerator.set_sync_gradients(true);
    accelerator.backward(training.model(input(4)));
    training.optimizer.step();
  }
  EXPECT_EQ(training.value(), -2);
}

// Returns a loader of `count` numbers 4, 8, 12…, one per batch.
auto numbers(std::int64_t count) {
  return make_data_loader<SequentialSampler>(
      torch::data::datasets::TensorDataset(4 * torch::arange(1, count + 1, torch::kFloat))
          .map(torch::data::transforms::Stack<torch::data::TensorExample>()),
      1);
}

TEST(ShortWindowTest, EveryOptimizersGradientsAreWeighed) {
  for (const bool one_named : {false, true}) {
    Accelerator accelerator({.gradient_accumulation = {.num_steps = 4}});
    TrainedWeight named(accelerator), other(accelerator);
    auto loader = accelerator.prepare(numbers(6));
    for (auto& batch : loader) {
      auto window = one_named ? accelerator.accumulate(named.model) : accelerator.accumulate();
      for (TrainedWeight* each : {&named, &other}) {
        accelerator.backward(each->model(batch.data));
        each->optimizer.step();
        each->optimizer.zero_grad();
      }
    }
    for (const TrainedWeight* each : {&named, &other}) EXPECT_EQ(each->value(), -10 - 22);
  }
}

TEST(SameBatchTest, ModelsThatAccumulateOneAfterTheOtherShareTheirWindows) {
  Accelerator accelerator({.gradient_accumulation = {.num_steps = 2}});
  TrainedWeight first(accelerator), second(accelerator);
  auto loader = accelerator.prepare(numbers(5));
  for (auto& batch : loader) {
    for (TrainedWeight* each : {&first, &second}) {
      auto window = accelerator.accumulate(each->model);
      accelerator.backward(each->model(batch.data));
      each->optimizer.step();
      each->optimizer.zero_grad();
    }
  }
  for (const TrainedWeight* each : {&first, &second}) EXPECT_EQ(each->value(), -6 - 14 - 20);
}

// A program may divide a batch of the loader into several batches of accumulate().
TEST(SameBatchTest, OneModelMayAccumulateSeveralTimes) {
  Accelerator accelerator(
      {.gradient_accumulation = {.num_steps = 2, .sync_with_dataloader = false}});
  TrainedWeight training(accelerator);
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

TEST(TwoAcceleratorsTest, AWindowBelongsToTheAcceleratorThatBeganIt) {
  Accelerator one({.gradient_accumulation = {.num_steps = 2}}), other;
  TrainedWeight training(one), unrelated(other);
  {
    auto window = one.accumulate(training.model);
    EXPECT_THAT(error_of<std::logic_error>([&] { other.backward(training.model(input(1))); }),
                HasSubstr("accumulate() of another Accelerator"));
    EXPECT_FALSE(training.weight->w.grad().defined());
    EXPECT_NO_THROW(other.backward(unrelated.model(input(1))));
    auto its_own = other.accumulate(training.model);
    EXPECT_NO_THROW(other.backward(training.model(input(1))));
  }
  EXPECT_NO_THROW(other.backward(training.model(input(1))));
}

}  // namespace
}  // namespace accel::runtime
