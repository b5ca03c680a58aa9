// Which gradients the backward passes of several real processes reduce, and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>

#include "accel/accelerator.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(DataParallelTest, ParametersAndBuffersAreRankZerosAndStayEqual) {
  on_ranks(2, [] {
    Accelerator accelerator;
    torch::manual_seed(accelerator.process_index());
    torch::nn::Sequential net(torch::nn::Linear(4, 4), torch::nn::BatchNorm1d(4),
                              torch::nn::Linear(4, 1));
    torch::manual_seed(0);
    torch::nn::Sequential expected(torch::nn::Linear(4, 4), torch::nn::BatchNorm1d(4),
                                   torch::nn::Linear(4, 1));
    auto model = accelerator.prepare(net);
    for (std::size_t i = 0; i < net->parameters().size(); ++i) {
      EXPECT_TRUE(torch::equal(net->parameters()[i], expected->parameters()[i]));
    }
    torch::manual_seed(100 + accelerator.process_index());
    accelerator.backward(model(torch::randn({6, 4})).sum());
    for (const torch::Tensor& buffer : net->buffers()) {
      const torch::Tensor all = accelerator.gather(buffer.reshape({1, -1}));
      EXPECT_TRUE(torch::equal(all[0], all[1]));
    }
  });
}

// y = w0 * x, so the gradient of w0 is x. No other weight is used.
struct Weights : torch::nn::Module {
  explicit Weights(int count = 1) {
    for (int i = 0; i < count; ++i) register_parameter("w" + std::to_string(i), torch::ones({1}));
  }
  torch::Tensor forward(const torch::Tensor& x) { return parameters()[0] * x; }
};

float gradient(const torch::nn::Module& module, int index = 0) {
  return module.parameters()[static_cast<std::size_t>(index)].grad().item<float>();
}

TEST(DataParallelTest, GradientsAddUpUntilTheyAreZeroed) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto weight = std::make_shared<Weights>();
    auto model = accelerator.prepare(weight);
    const float mine = accelerator.is_main_process() ? 1 : 3;
    accelerator.backward(model(torch::full({1}, mine)));
    EXPECT_FLOAT_EQ(gradient(*weight), 2);
    accelerator.backward(weight->forward(torch::full({1}, 10 * mine)));
    EXPECT_FLOAT_EQ(gradient(*weight), 22);
    for (bool set_to_none : {false, true}) {
      weight->zero_grad(set_to_none);
      accelerator.backward(model(torch::full({1}, mine)));
      EXPECT_FLOAT_EQ(gradient(*weight), 2);
    }
  });
}

TEST(DataParallelTest, OnlyTheModelsOfTheLossAreReduced) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto first = std::make_shared<Weights>(), second = std::make_shared<Weights>();
    auto [one, two] = accelerator.prepare(first, second);
    const float mine = accelerator.is_main_process() ? 1 : 3;
    accelerator.backward(one(torch::full({1}, mine)));
    EXPECT_FLOAT_EQ(gradient(*first), 2);
    EXPECT_FALSE(second->parameters()[0].grad().defined());
    accelerator.backward(two(torch::full({1}, mine)));
    EXPECT_FLOAT_EQ(gradient(*first), 2);
    EXPECT_FLOAT_EQ(gradient(*second), 2);
    accelerator.backward(one(torch::full({1}, mine)) + two(torch::full({1}, mine)));
    EXPECT_FLOAT_EQ(gradient(*first), 4);
    EXPECT_FLOAT_EQ(gradient(*second), 4);
  });
}

TEST(DataParallelTest, AnUnusedParameterIsAnErrorThatNamesIt) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto model = accelerator.prepare(std::make_shared<Weights>(2));
    try {
      accelerator.backward(model(torch::ones({1})));
      FAIL() << "accepted";
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr("w1"));
      EXPECT_THAT(error.what(), HasSubstr("find_unused_parameters"));
    }
  });
}

TEST(DataParallelTest, UnusedParametersCanBeAllowed) {
  on_ranks(2, [] {
    Accelerator accelerator({.data_parallel = {.find_unused_parameters = true}});
    auto weights = std::make_shared<Weights>(3);
    auto model = accelerator.prepare(weights);
    for (int step = 0; step < 3; ++step) {
      weights->zero_grad();
      // Rank 0 uses the first, rank 1 the second, no rank the third.
      const int used = accelerator.process_index();
      accelerator.backward(weights->parameters()[static_cast<std::size_t>(used)].sum() * 4);
      EXPECT_FLOAT_EQ(gradient(*weights, 0), 2);
      EXPECT_FLOAT_EQ(gradient(*weights, 1), 2);
      EXPECT_FALSE(weights->parameters()[2].grad().defined());
    }
  });
}

// For example, none of a rank's samples goes to any expert.
TEST(DataParallelTest, ALossThatDependsOnNothingOfACalledModelTakesPart) {
  on_ranks(2, [] {
    Accelerator accelerator({.data_parallel = {.find_unused_parameters = true}});
    auto weights = std::make_shared<Weights>(2);
    auto model = accelerator.prepare(weights);
    const torch::Tensor other = torch::ones({1}, torch::requires_grad());
    for (int step = 0; step < 4; ++step) {
      weights->zero_grad();
      const torch::Tensor out = model(torch::full({1}, 4.0));
      const bool leaves_out = step % 2 == accelerator.process_index();
      accelerator.backward((leaves_out ? other : out).sum());
      EXPECT_FLOAT_EQ(gradient(*weights), 2);
      EXPECT_FALSE(weights->parameters()[1].grad().defined());
    }
    // If the model was not called, this rank's pass is independent of the other rank.
    if (accelerator.is_main_process()) accelerator.backward(other.sum());
    EXPECT_EQ(other.grad().item<float>(), accelerator.is_main_process() ? 3 : 2);
  });
}

TEST(DataParallelTest, AModuleThatIsPreparedAgainIsTheSameModel) {
  on_ranks(2, [] {
    Accelerator accelerator, another;
    auto weight = std::make_shared<Weights>();
    auto model = accelerator.prepare(weight);
    auto again = another.prepare(weight);
    EXPECT_EQ(model.strategy(), again.strategy());
    accelerator.backward(again(torch::full({1}, accelerator.is_main_process() ? 1.0 : 3.0)));
    EXPECT_FLOAT_EQ(gradient(*weight), 2);
  });
}

TEST(DataParallelTest, AModelInEvaluationModeIsNotReduced) {
  on_ranks(2, [] {
    Accelerator accelerator;
    if (!accelerator.is_main_process()) return;  // It does not wait for others.
    auto weight = std::make_shared<Weights>();
    auto model = accelerator.prepare_model(weight, {.evaluation_mode = true});
    accelerator.backward(model(torch::full({1}, 3.0)));
    EXPECT_FLOAT_EQ(gradient(*weight), 3);
  });
}

TEST(DataParallelTest, ASyncCanBeForced) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto weight = std::make_shared<Weights>();
    auto model = accelerator.prepare(weight);
    const float mine = accelerator.is_main_process() ? 1 : 3;
    auto paused = accelerator.no_sync(model);
    accelerator.backward(model(torch::full({1}, mine)));
    EXPECT_FLOAT_EQ(gradient(*weight), mine);
    {
      auto forced = accelerator.trigger_sync_in_backward(model);
      accelerator.backward(model(torch::full({1}, 10 * mine)));
    }
    EXPECT_FLOAT_EQ(gradient(*weight), 22);
    accelerator.backward(model(torch::full({1}, mine)));
    EXPECT_FLOAT_EQ(gradient(*weight), 22 + mine);
  });
}

TEST(DataParallelTest, AStaticGraphMayLeaveParametersOut) {
  on_ranks(2, [] {
    Accelerator accelerator({.data_parallel = {.static_graph = true}});
    auto weights = std::make_shared<Weights>(2);
    auto model = accelerator.prepare(weights);
    const float mine = accelerator.is_main_process() ? 1 : 3;
    for (int step = 0; step < 4; ++step) {
      weights->zero_grad();
      // The first weight is used twice, the second never.
      accelerator.backward(model(torch::full({1}, mine)) + model(torch::full({1}, mine)));
      EXPECT_FLOAT_EQ(gradient(*weights), 4);
    }
  });
}

TEST(DataParallelTest, AStaticGraphAccumulates) {
  on_ranks(2, [] {
    Accelerator accelerator(
        {.gradient_accumulation = {.num_steps = 3}, .data_parallel = {.static_graph = true}});
    auto weights = std::make_shared<Weights>(2);
    auto model = accelerator.prepare(weights);
    const float mine = accelerator.is_main_process() ? 1 : 3;
    for (int step = 1; step <= 12; ++step) {
      auto window = accelerator.accumulate(model);
      accelerator.backward(model(torch::full({1}, mine * step)));
      if (!accelerator.sync_gradients()) continue;
      EXPECT_FLOAT_EQ(gradient(*weights), 2 * (step - 1)) << "rank " << mine << " step " << step;
      weights->zero_grad();
    }
  });
}

TEST(DataParallelTest, EvaluationAndFrozenModelsCommunicateNothing) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto weight = std::make_shared<Weights>();
    auto frozen = std::make_shared<Weights>();
    frozen->parameters()[0].requires_grad_(false);
    auto [model, teacher] = accelerator.prepare(weight, frozen);
    if (accelerator.is_main_process()) {
      torch::NoGradGuard no_grad;
      model->eval();
      EXPECT_FLOAT_EQ((model(torch::ones({1})) + teacher(torch::ones({1}))).item<float>(), 2);
      model->train();
    }
    accelerator.backward(model(torch::ones({1})) * teacher(torch::ones({1})));
    EXPECT_FLOAT_EQ(gradient(*weight), 1);
  });
}

TEST(DataParallelTest, ALostPeerEndsTheBackwardPass) {
  on_ranks(2, [] {
    Accelerator accelerator({.timeout = std::chrono::seconds(20)});
    auto model = accelerator.prepare(torch::nn::Linear(200, 200));
    const auto step = [&] { accelerator.backward(model(torch::ones({1, 200})).sum()); };
    step();
    if (!accelerator.is_main_process()) _exit(0);
    const auto steps = [&] {
      for (int i = 0; i < 100; ++i) step();
    };
    EXPECT_THAT(steps, ThrowsMessage<CommunicationError>(HasSubstr("backward failed")));
  });
}

TEST(DataParallelTest, AnyAcceleratorReducesEveryModel) {
  on_ranks(2, [] {
    Accelerator preparing, stepping;
    auto weight = std::make_shared<Weights>();
    auto model = preparing.prepare(weight);
    stepping.backward(model(torch::full({1}, stepping.is_main_process() ? 1.0 : 3.0)));
    EXPECT_FLOAT_EQ(gradient(*weight), 2);
  });
}

TEST(DataParallelTest, ModelsThatDifferAreRefused) {
  on_ranks(2, [] {
    Accelerator accelerator;
    const int outputs = 2 + accelerator.process_index();
    EXPECT_THAT([&] { accelerator.prepare(torch::nn::Linear(4, outputs)); },
                ThrowsMessage<std::invalid_argument>(
                    HasSubstr("parameter weight [3, 4] float on rank 1, and parameter weight "
                              "[2, 4] float on rank 0")));
    torch::nn::Linear net(4, 4);
    net->bias.requires_grad_(accelerator.is_main_process());
    EXPECT_THAT([&] { accelerator.prepare(net); },
                ThrowsMessage<std::invalid_argument>(
                    HasSubstr("float that requires no gradient on rank 1")));
  });
}

}  // namespace
}  // namespace accel::runtime
