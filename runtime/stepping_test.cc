// Optimizers step only on gradients that backward() has reduced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "accel/local_sgd.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/trained_weight.h"

namespace accel::runtime {
namespace {

using testing::HasSubstr;

constexpr char kSaysWhatToCall[] = "call accelerator.backward(loss) instead of loss.backward()";

TEST(PlainBackwardTest, IsRefusedByTheStepAfterIt) {
  on_ranks(2, [] {
    Accelerator accelerator;
    TrainedWeight training(accelerator);
    for (int i = 0; i < 2; ++i) {
      training.model(input(own_number(accelerator))).backward();
      EXPECT_THAT(error_of<std::logic_error>([&] { training.optimizer.step(); }),
                  HasSubstr(kSaysWhatToCall));
      EXPECT_EQ(training.value(), 0);
      training.optimizer.zero_grad();
    }
    accelerator.backward(training.model(input(own_number(accelerator))));
    training.optimizer.step();
    EXPECT_EQ(training.value(), -2);
  });
}

// torch::load() gives parameters other nodes in the graph, which need hooks again.
TEST(PlainBackwardTest, IsNoticedAfterParametersWereLoaded) {
  on_ranks(2, [] {
    Accelerator accelerator;
    torch::nn::Linear net(1, 1);
    auto [model, optimizer] = accelerator.prepare(net, torch::optim::SGD(net->parameters(), 1.0));
    std::stringstream file;
    torch::save(net, file);
    torch::load(net, file);
    optimizer.zero_grad();
    model(torch::ones({1, 1})).sum().backward();
    EXPECT_THAT(error_of<std::logic_error>([&] { optimizer.step(); }), HasSubstr(kSaysWhatToCall));
  });
}

// A program may call loss.backward() before the step, for example for the gradients of inputs. Its
// gradients are then zeroed in any way, or are reduced with the others.
TEST(PlainBackwardTest, MayComeBeforeTheLoss) {
  on_ranks(2, [] {
    Accelerator accelerator;
    TrainedWeight training(accelerator);
    const float mine = own_number(accelerator);
    const std::array<std::function<void()>, 5> zeroings{
        [&] { training.optimizer.zero_grad(); }, [&] { training.weight->zero_grad(true); },
        [&] { training.weight->zero_grad(false); },
        [&] { training.weight->w.mutable_grad() = torch::Tensor(); }, [] {}};
    for (std::size_t i = 0; i < zeroings.size(); ++i) {
      const torch::Tensor x = input(mine).requires_grad_();
      training.model(x).backward();
      EXPECT_EQ(x.grad().item<float>(), training.value());
      zeroings[i]();
      accelerator.backward(training.model(input(mine)));
      const float before = training.value();
      training.optimizer.step();
      EXPECT_EQ(training.value() - before, i == 4 ? -4 : -2);
      training.optimizer.zero_grad();
    }
    training.model(input(mine)).backward();
    training.weight->zero_grad(false);
    {
      auto alone = accelerator.no_sync(training.model);
      accelerator.backward(training.model(input(mine)));
    }
    EXPECT_NO_THROW(training.optimizer.step());
  });
}

TEST(PlainBackwardTest, IsAllowedUnderNoSync) {
  on_ranks(2, [] {
    Accelerator accelerator;
    TrainedWeight training(accelerator);
    const float mine = own_number(accelerator);
    {
      auto alone = accelerator.no_sync(training.model);
      training.model(input(mine)).backward();
    }
    training.optimizer.step();
    EXPECT_EQ(training.value(), -mine);
    training.optimizer.zero_grad();
    LocalSgd local_sgd(accelerator, training.model, 1);
    training.model(input(mine)).backward();
    training.optimizer.step();
    local_sgd.step();
    EXPECT_EQ(training.value(), -4);
  });
}

// Gradients of loss.backward() are not divided by the batches of the window. Reducing them with the
// others, at the end of the window or in each batch, does not change that.
TEST(PlainBackwardTest, IsRefusedInAWindowThatAccelEnds) {
  for (const bool sync_each_batch : {false, true}) {
    on_ranks(2, [=] {
      Accelerator accelerator(
          {.gradient_accumulation = {.num_steps = 2, .sync_each_batch = sync_each_batch}});
      TrainedWeight training(accelerator);
      const auto train_window = [&](bool plain) {
        for (int batch = 0; batch < 2; ++batch) {
          auto window = accelerator.accumulate(training.model);
          const torch::Tensor loss = training.model(input(own_number(accelerator)));
          plain&& batch == 0 ? loss.backward() : accelerator.backward(loss);
          training.optimizer.step();
        }
      };
      EXPECT_THAT(error_of<std::logic_error>([&] { train_window(true); }),
                  HasSubstr(kSaysWhatToCall));
      EXPECT_EQ(training.value(), 0);
      training.optimizer.zero_grad();
      train_window(false);
      EXPECT_EQ(training.value(), -2);
    });
  }
}

TEST(PlainBackwardTest, IsRefusedInAClosure) {
  on_ranks(2, [] {
    Accelerator accelerator;
    TrainedWeight training(accelerator);
    const auto step = [&](bool plain) {
      training.optimizer.step([&]() -> torch::Tensor {
        training.optimizer.zero_grad();
        const torch::Tensor loss = training.model(input(own_number(accelerator)));
        plain ? loss.backward() : accelerator.backward(loss);
        return loss;
      });
    };
    EXPECT_THAT(error_of<std::logic_error>([&] { step(true); }), HasSubstr(kSaysWhatToCall));
    step(false);
    EXPECT_EQ(training.value(), -2);
  });
}

TEST(PlainBackwardTest, IsLibTorchsInOneProcessButNotInFp16) {
  Accelerator accelerator, fp16({.mixed_precision = MixedPrecision::kFp16});
  TrainedWeight training(accelerator), scaled(fp16);
  training.model(input(3)).backward();
  training.optimizer.step();
  EXPECT_EQ(training.value(), -3);
  scaled.model(input(3)).backward();
  EXPECT_THAT(error_of<std::logic_error>([&] { scaled.optimizer.step(); }),
              AllOf(HasSubstr(kSaysWhatToCall), HasSubstr("fp16")));
  scaled.model(input(3)).backward();
  fp16.backward(scaled.model(input(3)));
  EXPECT_THROW(scaled.optimizer.step(), std::logic_error) << "scaled and unscaled ones added up";
  scaled.optimizer.zero_grad();
  fp16.backward(scaled.model(input(3)));
  scaled.optimizer.step();
  EXPECT_EQ(scaled.value(), -3);
}

// A failed pass leaves incomplete gradients.
TEST(FailedBackwardTest, ItsGradientsAreNotSteppedOn) {
  on_ranks(2, [] {
    Accelerator accelerator;
    TrainedWeight first(accelerator), second(accelerator);
    torch::Tensor x = torch::ones({1}, torch::requires_grad());
    const torch::Tensor failing = x * 1;
    failing.register_hook([](const torch::Tensor&) -> torch::Tensor {
      throw std::runtime_error("no memory is left");
    });
    const auto alone = accelerator.no_sync(first.model, second.model);
    EXPECT_THROW(accelerator.backward(failing * first.weight->w), std::runtime_error);
    if (first.weight->w.grad().defined()) {
      EXPECT_THAT(error_of<std::logic_error>([&] { first.optimizer.step(); }),
                  HasSubstr("has failed"));
    }
    first.optimizer.zero_grad();
    accelerator.backward(first.model(input(1)));
    EXPECT_NO_THROW(first.optimizer.step());
  });
}

// Returns rank 0's standard error in the first step and, after a '|', in the second one.
std::string said_by_steps(Accelerator& accelerator, const torch::Tensor& loss, auto& optimizer) {
  accelerator.backward(loss, {.retain_graph = true});
  testing::internal::CaptureStderr();
  optimizer.step();
  std::string said = testing::internal::GetCapturedStderr() + "|";
  testing::internal::CaptureStderr();
  optimizer.step();
  return said + testing::internal::GetCapturedStderr();
}

TEST(LooseParameterTest, IsNamedOnceAtTheFirstStep) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto weight = std::make_shared<Weight>(), forgotten = std::make_shared<Weight>();
    torch::Tensor temperature = torch::ones({1}, torch::requires_grad()), frozen = torch::ones(1);
    auto [model, optimizer, good, other] = accelerator.prepare(
        weight, torch::optim::SGD({weight->w, temperature, frozen}, 0.1),
        torch::optim::SGD({weight->w, frozen}, 0.1), torch::optim::SGD({forgotten->w}, 0.1));
    const bool main = accelerator.is_main_process();
    const torch::Tensor loss = model(input(1)) * temperature;
    EXPECT_THAT(said_by_steps(accelerator, loss, optimizer),
                testing::MatchesRegex(
                    main ? "accel: .*parameter 1 of group 0, of shape \\[1\\].*\n\\|" : "\\|"));
    EXPECT_EQ(said_by_steps(accelerator, loss, good), "|");
    EXPECT_THAT(said_by_steps(accelerator, forgotten->forward(input(1)), other),
                main ? HasSubstr("none of whose parameters") : HasSubstr("|"));
  });
}

TEST(LooseParameterTest, IsRefusedInFp16WhereItsOverflowsWouldPartTheProcesses) {
  on_ranks(2, [] {
    Accelerator accelerator({.mixed_precision = MixedPrecision::kFp16});
    auto weight = std::make_shared<Weight>();
    torch::Tensor temperature = torch::ones({1}, torch::requires_grad());
    auto [model, optimizer] =
        accelerator.prepare(weight, torch::optim::SGD({weight->w, temperature}, 0.1));
    accelerator.backward(model(input(1)) * temperature);
    EXPECT_THAT(error_of<std::logic_error>([&, &optimizer = optimizer] { optimizer.step(); }),
                AllOf(HasSubstr("parameter 1 of group 0"), HasSubstr("fp16")));
  });
}

// Holds regardless of which of its models was prepared last, and which one the loss is of.
TEST(SharedParameterTest, ItsOverflowsMoveTheScaleOfAllProcesses) {
  on_ranks(2, [] {
    Accelerator accelerator({.mixed_precision = MixedPrecision::kFp16});
    auto trunk = std::make_shared<Weight>();
    torch::nn::Sequential one(trunk), two(trunk, torch::nn::Linear(1, 1));
    auto [first, second, optimizer] =
        accelerator.prepare(one, two, torch::optim::SGD(trunk->parameters(), 0.5));
    for (const float x : {INFINITY, 1.0f}) {
      optimizer.zero_grad();
      accelerator.backward(first(input(x)));
      if (x == 1) {
        EXPECT_EQ(trunk->w.grad().item<float>(), 32768);
      }
      optimizer.step();
      EXPECT_EQ(optimizer.step_was_skipped(), x != 1);
    }
  });
}

// `->` gives access to everything except step() and zero_grad().
TEST(ArrowTest, ReachesAllMembersExceptStep) {
  Accelerator accelerator;
  const TrainedWeight training(accelerator);
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
}  // namespace accel::runtime
