#include "runtime/core/accumulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace accel::runtime {
namespace {

// Returns one letter per batch of `epochs` loops over `batches` batches: S where the optimizer
// steps, - where it does not.
std::string steps(Accumulation& rule, int epochs, int batches) {
  std::string out;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (int batch = 0; batch < batches; ++batch) {
      rule.begin({.end_of_dataloader = batch == batches - 1});
      out += rule.sync_gradients() ? 'S' : '-';
    }
  }
  return out;
}

// Returns the weight that each batch of one epoch has in its optimizer step: 1 / loss_divisor(),
// times each later earlier_scale() of its window.
std::vector<double> weights(const GradientAccumulation& options, int batches) {
  Accumulation rule(options);
  std::vector<double> all, window;
  for (int batch = 0; batch < batches; ++batch) {
    rule.begin({.end_of_dataloader = batch == batches - 1});
    for (double& weight : window) weight *= rule.earlier_scale();
    window.push_back(1.0 / rule.loss_divisor());
    if (!rule.sync_gradients()) continue;
    all.insert(all.end(), window.begin(), window.end());
    window.clear();
  }
  return all;
}

TEST(AccumulationTest, OneStepPerBatchByDefault) {
  Accumulation rule({});
  EXPECT_TRUE(rule.sync_gradients());
  EXPECT_EQ(rule.loss_divisor(), 1);
  EXPECT_EQ(steps(rule, 1, 3), "SSS");
}

TEST(AccumulationTest, TheEndOfALoaderEndsTheWindowAndResetsTheCount) {
  Accumulation rule({.num_steps = 3});
  EXPECT_EQ(steps(rule, 2, 5), "--S-S--S-S");
}

TEST(AccumulationTest, WithoutSyncWithDataloaderTheCountContinuesAcrossEpochs) {
  Accumulation rule({.num_steps = 3, .sync_with_dataloader = false});
  EXPECT_EQ(steps(rule, 2, 5), "--S--S--S-");
}

TEST(AccumulationTest, ALoopLeftEarlyIsContinued) {
  Accumulation rule({.num_steps = 4});
  for (int batch = 0; batch < 3; ++batch) rule.begin({});
  EXPECT_EQ(steps(rule, 1, 3), "S-S");
}

TEST(AccumulationTest, EveryWindowIsTheMeanOfItsBatches) {
  for (int num_steps = 1; num_steps < 7; ++num_steps) {
    for (int batches = 1; batches < 20; ++batches) {
      const std::vector<double> all = weights({.num_steps = num_steps}, batches);
      ASSERT_EQ(all.size(), static_cast<std::size_t>(batches));
      const int rest = batches % num_steps;
      for (int batch = 0; batch < batches; ++batch) {
        const bool in_short_window = batch >= batches - rest;
        EXPECT_NEAR(all[batch], 1.0 / (in_short_window ? rest : num_steps), 1e-12)
            << num_steps << " steps, batch " << batch << " of " << batches;
      }
    }
  }
}

TEST(AccumulationTest, FullWindowScalingDividesAsAccelerateDoes) {
  EXPECT_THAT(weights({.num_steps = 2, .full_window_scaling = true}, 3),
              testing::ElementsAre(0.5, 0.5, 0.5));
}

TEST(AccumulationTest, ReducesWithTheStepOrAlways) {
  Accumulation with_step({.num_steps = 2}), always({.num_steps = 2, .sync_each_batch = true});
  with_step.begin({});
  always.begin({});
  EXPECT_FALSE(with_step.reduces() || with_step.sync_gradients() || always.sync_gradients());
  EXPECT_TRUE(always.reduces());
}

// From any batch on, also in the short last window, the copy decides as the original does.
TEST(AccumulationTest, ContinuesFromASavedState) {
  for (int saved_at = 0; saved_at < 8; ++saved_at) {
    Accumulation first({.num_steps = 3}), second({.num_steps = 3});
    for (int batch = 0; batch < saved_at; ++batch) first.begin({});
    second.set_state(first.state());
    EXPECT_EQ(second.sync_gradients(), first.sync_gradients());
    for (int batch = saved_at; batch < 12; ++batch) {
      for (Accumulation* each : {&first, &second}) each->begin({.end_of_dataloader = batch == 7});
      EXPECT_EQ(second.state(), first.state());
      EXPECT_EQ(second.sync_gradients(), first.sync_gradients());
      EXPECT_EQ(second.loss_divisor(), first.loss_divisor());
      EXPECT_EQ(second.earlier_scale(), first.earlier_scale());
    }
    EXPECT_THROW(second.set_state({.step = -1}), std::invalid_argument);
    EXPECT_THROW(second.set_state({.window = -1}), std::invalid_argument);
  }
}

// A state that was saved between windows loads into a program with another num_steps.
TEST(AccumulationTest, AStateSavedBetweenWindowsLoadsWithAnotherNumSteps) {
  Accumulation first({.num_steps = 4}), second({.num_steps = 3});
  for (int batch = 0; batch < 4; ++batch) first.begin({});
  EXPECT_EQ(first.state(), (AccumulationState{.step = 4, .window = 0, .num_steps = 4}));
  second.set_state(first.state());
  EXPECT_TRUE(second.sync_gradients());
  second.begin({});
  EXPECT_EQ(second.state(), (AccumulationState{.step = 5, .window = 1, .num_steps = 3}));
  // The count continues at 4, so this window ends at 6: it is the mean of two batches.
  second.begin({});
  EXPECT_TRUE(second.sync_gradients());
  EXPECT_EQ(second.loss_divisor(), 2);
}

TEST(AccumulationTest, NumStepsAndSyncGradientsCanBeChanged) {
  Accumulation rule({.num_steps = 4});
  for (int batch = 0; batch < 3; ++batch) rule.begin({});
  rule.set_num_steps(2);
  EXPECT_EQ(steps(rule, 1, 3), "S-S");
  rule.begin({});
  EXPECT_FALSE(rule.is_forced());
  rule.set_sync_gradients(true);
  EXPECT_TRUE(rule.sync_gradients() && rule.reduces() && rule.is_forced());
  rule.set_sync_gradients(false);
  EXPECT_FALSE(rule.sync_gradients() || rule.reduces() || rule.is_forced());
  EXPECT_THROW(rule.set_num_steps(0), std::invalid_argument);
}

// Returns the weights of a window's batches where set_sync_gradients(ends[i]) overrides whether
// batch i ends the window. The second batch is the last one of its loader.
std::vector<double> changed_window(Accumulation& rule, const std::vector<bool>& ends) {
  std::vector<double> window;
  for (std::size_t batch = 0; batch < ends.size(); ++batch) {
    rule.begin({.end_of_dataloader = batch == 1});
    for (double& weight : window) weight *= rule.earlier_scale();
    rule.set_sync_gradients(ends[batch]);
    window.push_back(1.0 / rule.loss_divisor());
  }
  return window;
}

TEST(AccumulationTest, BatchesOfAChangedWindowHaveEqualWeight) {
  Accumulation early({.num_steps = 4, .sync_with_dataloader = false}), late({.num_steps = 4});
  EXPECT_THAT(changed_window(early, {false, true}), testing::ElementsAre(0.25, 0.25));
  EXPECT_THAT(changed_window(late, {false, false, false}), testing::Each(0.25));
  Accumulation fewer({.num_steps = 4});
  fewer.begin({});
  EXPECT_EQ(fewer.loss_divisor(), 4);
  fewer.set_num_steps(2);
  EXPECT_EQ(fewer.loss_divisor(), 4) << "it holds from the next batch on";
  fewer.begin({});
  EXPECT_TRUE(fewer.sync_gradients());
  EXPECT_EQ(fewer.loss_divisor(), 2);
  EXPECT_EQ(fewer.earlier_scale(), 2);
}

TEST(AccumulationTest, ModelsThatAccumulateInOneLoaderStepShareABatch) {
  const int a = 0, b = 0;
  Accumulation rule({.num_steps = 3});
  for (std::uint64_t step = 1; step <= 2; ++step) {
    for (const int* model : {&a, &b}) {
      rule.begin({.end_of_dataloader = step == 2, .loader_step = step, .models = {model}});
      EXPECT_EQ(rule.batches(), step);
      EXPECT_EQ(rule.sync_gradients(), step == 2);
      EXPECT_EQ(rule.earlier_scale(), step == 2 && model == &a ? 1.5 : 1);
      EXPECT_EQ(rule.loss_divisor(), step == 2 ? 2 : 3);
    }
  }
  rule.begin({.loader_step = 2, .models = {&b}});
  EXPECT_EQ(rule.batches(), 3u) << "a model that is named again begins a batch";
  rule.begin({.loader_step = 2});
  EXPECT_EQ(rule.batches(), 4u) << "so does a call that names none";
  rule.begin({.models = {&a}});
  rule.begin({.models = {&b}});
  EXPECT_EQ(rule.batches(), 6u) << "and one outside of a loader";
}

TEST(AccumulationTest, RefusesLessThanOneStep) {
  EXPECT_THROW(Accumulation({.num_steps = 0}), std::invalid_argument);
}

}  // namespace
}  // namespace accel::runtime
