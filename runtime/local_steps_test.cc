// Several processes that step on their own gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <vector>

#include "accel/local_sgd.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/weight.h"

namespace accel::runtime {
namespace {

TEST(LocalSgdTest, AveragesEveryFewStepsAndAtTheEnd) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto weight = std::make_shared<Weight>();
    auto [model, optimizer] =
        accelerator.prepare(weight, torch::optim::SGD(weight->parameters(), 1.0));
    const float mine = accelerator.is_main_process() ? -1 : -3;
    std::vector<float> weights;
    const auto step = [&] {
      accelerator.backward(model(input(mine)));
      optimizer.step();
      optimizer.zero_grad();
    };
    {
      LocalSgd local_sgd(accelerator, model, 2);
      for (int batch = 0; batch < 3; ++batch) {
        step();
        local_sgd.step();
        weights.push_back(weight->w.item<float>());
      }
    }
    weights.push_back(weight->w.item<float>());
    step();
    weights.push_back(weight->w.item<float>());
    EXPECT_THAT(weights, testing::ElementsAre(-mine, 4, 4 - mine, 6, 8));
    {
      LocalSgd disabled(accelerator, model, 1, /*enabled=*/false);
      step();
      disabled.step();
    }
    EXPECT_EQ(weight->w.item<float>(), 10);
    EXPECT_THROW(LocalSgd(accelerator, model, 0), std::invalid_argument);
  });
}

TEST(GradientSyncScopeTest, MayDependOnACondition) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto weight = std::make_shared<Weight>();
    auto model = accelerator.prepare(weight);
    const float mine = accelerator.is_main_process() ? 1 : 3;
    for (const bool last : {false, true}) {
      GradientSyncScope scope;
      if (!last) scope = accelerator.no_sync(model);
      accelerator.backward(model(input(mine)));
      // First this rank's gradient; in the last pass the mean of both ranks' sums.
      EXPECT_EQ(weight->w.grad().item<float>(), last ? 4 : mine);
    }
  });
}

TEST(LocalSgdTest, AnExceptionDoesNotWaitForTheOtherRanks) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto model = accelerator.prepare(std::make_shared<Weight>());
    const auto fail = [&] {
      LocalSgd local_sgd(accelerator, model, 2);
      throw std::runtime_error("mine");
    };
    accelerator.on_main_process([&] { EXPECT_THROW(fail(), std::runtime_error); });
  });
}

// For gradients of a process alone, scale, skipped steps and their count are local too. The scale
// of reduced gradients is not affected, and remains the same on all ranks.
TEST(LocalSgdTest, AScaleOfItsOwnDoesNotMoveTheOthers) {
  on_ranks(2, [] {
    Accelerator accelerator({.mixed_precision = MixedPrecision::kFp16});
    auto weight = std::make_shared<Weight>();
    auto [model, optimizer] =
        accelerator.prepare(weight, torch::optim::SGD(weight->parameters(), 1.0));
    const bool main = accelerator.is_main_process();
    const float overflow = main ? 1 : INFINITY;
    const auto step = [&](float x) {
      accelerator.backward(model(input(x)));
      const float scaled = weight->w.grad().item<float>();
      optimizer.step();
      optimizer.zero_grad();
      return scaled;
    };
    {
      auto paused = accelerator.no_sync(model);
      step(overflow);
      EXPECT_EQ(optimizer.step_was_skipped(), !main);
      EXPECT_EQ(step(1), main ? 65536 : 32768);
    }
    EXPECT_EQ(step(1), 65536);
    {
      auto paused = accelerator.no_sync(model);
      EXPECT_EQ(step(1), main ? 65536 : 32768) << "it has not been forgotten";
    }
    // An overflow on one rank is one on all ranks.
    step(overflow);
    EXPECT_TRUE(optimizer.step_was_skipped());
    EXPECT_EQ(step(1), 32768);
  });
}

// One rank makes a step with a prepared optimizer alone, between two steps of the training.
TEST(DynamicLossScaleTest, AProbeOnOneRankMovesNothing) {
  on_ranks(2, [] {
    Accelerator accelerator(
        {.mixed_precision = MixedPrecision::kFp16, .timeout = std::chrono::seconds(20)});
    auto weight = std::make_shared<Weight>(), tried = std::make_shared<Weight>();
    auto [model, optimizer, probe] =
        accelerator.prepare(weight, torch::optim::SGD(weight->parameters(), 1.0),
                            torch::optim::SGD(tried->parameters(), 1.0));
    for (int batch = 0; batch < 2; ++batch) {
      accelerator.backward(model(input(2)));
      EXPECT_EQ(weight->w.grad().item<float>(), 2 * 65536);
      accelerator.on_main_process([&, &probe = probe] {
        for (const float x : {INFINITY, 1.0f}) {
          auto scope = accelerator.autocast();
          accelerator.backward(tried->forward(input(x)));
          probe.step();
          EXPECT_EQ(probe.step_was_skipped(), x != 1);
          probe.zero_grad();
        }
      });
      optimizer.step();
      EXPECT_FALSE(optimizer.step_was_skipped());
      optimizer.zero_grad();
    }
    EXPECT_EQ(weight->w.item<float>(), -4);
    accelerator.wait_for_everyone();
  });
}

}  // namespace
}  // namespace accel::runtime
