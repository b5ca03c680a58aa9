// Prepared models that a program changes, or does not use, during training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/embedding.h>

#include <chrono>
#include <sstream>
#include <stdexcept>
#include <string>

#include "accel/accelerator.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ChangingModelTest, ParametersMayBeFrozenAndUnfrozenOnTheWay) {
  on_ranks(2, [] {
    for (const bool static_graph : {false, true}) {
      Accelerator accelerator({.data_parallel = {.static_graph = static_graph}});
      torch::nn::Sequential net(torch::nn::Linear(1, 1), torch::nn::Linear(1, 1));
      const std::vector<torch::Tensor> all = net->parameters();
      const auto freeze = [&](std::size_t from, bool frozen) {
        for (std::size_t i = from; i < from + 2; ++i) all[i].requires_grad_(!frozen);
      };
      freeze(0, true);
      auto model = accelerator.prepare(net);
      const auto pass = [&] {
        model->zero_grad();
        const float x = accelerator.is_main_process() ? 1 : 3;
        accelerator.backward(model->forward(torch::full({1, 1}, x)).sum());
      };
      pass();
      EXPECT_FALSE(all[0].grad().defined());
      freeze(0, false);
      pass();
      EXPECT_FLOAT_EQ(all[0].grad().item<float>(), 2 * all[2].item<float>());
      freeze(2, true);
      pass();
      EXPECT_FLOAT_EQ(all[0].grad().item<float>(), 2 * all[2].item<float>());
      freeze(0, true), freeze(2, false);
      pass();
      const torch::Tensor gradients = accelerator.gather(all[2].grad());
      EXPECT_TRUE(torch::equal(gradients[0], gradients[1]));
    }
  });
}

TEST(ChangingModelTest, SparseGradientsAreReduced) {
  on_ranks(2, [] {
    Accelerator accelerator;
    torch::nn::Embedding words(torch::nn::EmbeddingOptions(4, 1).sparse(true));
    auto model = accelerator.prepare(words);
    const std::int64_t word = accelerator.is_main_process() ? 1 : 3;
    accelerator.backward(model->forward(torch::tensor({word})).sum());
    EXPECT_TRUE(torch::equal(words->weight.grad().to_dense().flatten(),
                             torch::tensor({0.0f, 0.5f, 0.0f, 0.5f})));
  });
}

// Buffers may get other memory, for example by torch::load().
TEST(ChangingModelTest, BuffersAreFollowedWhereverTheyLie) {
  on_ranks(2, [] {
    Accelerator accelerator;
    torch::nn::BatchNorm1d net(1);
    auto model = accelerator.prepare(net);
    net->running_mean.set_data(torch::zeros({1}));
    const float x = accelerator.is_main_process() ? 1 : 3;
    accelerator.backward(model->forward(torch::full({2, 1}, x)).sum());
    EXPECT_FLOAT_EQ(net->running_mean.item<float>(), 0.1f);  // Rank 0's.
  });
}

// A pass that one process makes alone must not affect later ones.
TEST(ChangingModelTest, ALossOfSomethingElseLeavesTheModelAlone) {
  on_ranks(2, [] {
    Accelerator accelerator;
    torch::nn::Linear net(1, 1), other(1, 1);
    auto model = accelerator.prepare(net);
    const float x = accelerator.is_main_process() ? 1 : 3;
    accelerator.backward(other->forward(torch::ones({1, 1})).sum());
    const auto alone = accelerator.no_sync(model);
    accelerator.backward(model->forward(torch::full({1, 1}, x)).sum());
    EXPECT_EQ(net->weight.grad().item<float>(), x);
  });
}

// Rank 0's input is 1, and rank 1's is 3. If the gradients of the last layer's weight were reduced,
// they are therefore 2 times the factor of its input.
template <typename Net>
void backward(Accelerator& accelerator, Net& net) {
  net->zero_grad();
  const double x = accelerator.is_main_process() ? 1 : 3;
  const auto dtype = net->parameters()[0].scalar_type();
  accelerator.backward(net->forward(torch::full({1, 1}, x, dtype)).sum());
}

void expect_reduced(Accelerator& accelerator, const torch::nn::Module& net) {
  for (const auto& item : net.named_parameters()) {
    const torch::Tensor all = accelerator.gather(item.value().grad().reshape({1, -1}));
    EXPECT_TRUE(torch::equal(all[0], all[1])) << item.key();
  }
}

torch::nn::Sequential two_layers() {
  return torch::nn::Sequential(torch::nn::Linear(1, 2), torch::nn::Linear(2, 1));
}

// torch::load() gives a parameter another node that adds up its gradient.
TEST(ChangingModelTest, AModelThatIsLoadedOnTheWayIsReduced) {
  on_ranks(2, [] {
    for (const bool static_graph : {false, true}) {
      Accelerator accelerator({.data_parallel = {.static_graph = static_graph}});
      auto net = two_layers();
      auto model = accelerator.prepare(net);
      std::stringstream file;
      torch::save(net, file);
      for (int pass = 0; pass < 4; ++pass) {
        if (pass % 2 == 0) {
          file.seekg(0);
          torch::load(net, file);
        }
        backward(accelerator, model);
        expect_reduced(accelerator, *net);
      }
    }
  });
}

TEST(ChangingModelTest, AModelThatIsCastOnTheWayIsReduced) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto model = accelerator.prepare(two_layers());
    for (const auto dtype : {torch::kFloat, torch::kDouble, torch::kBFloat16}) {
      model->to(dtype);
      backward(accelerator, model);
      expect_reduced(accelerator, *model);
    }
  });
}

TEST(ChangingModelTest, AModelThatWasFrozenWhenItWasPreparedIsReducedOnceItIsNot) {
  on_ranks(2, [] {
    for (const bool static_graph : {false, true}) {
      Accelerator accelerator({.data_parallel = {.static_graph = static_graph}});
      auto net = two_layers();
      for (auto& parameter : net->parameters()) parameter.requires_grad_(false);
      auto model = accelerator.prepare(net);
      for (auto& parameter : net->parameters()) parameter.requires_grad_(true);
      for (int pass = 0; pass < 3; ++pass) {
        backward(accelerator, model);
        expect_reduced(accelerator, *net);
      }
    }
  });
}

TEST(ChangingModelTest, PartsThatAreAddedAreReduced) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto net = two_layers();
    auto model = accelerator.prepare(net);
    backward(accelerator, model);
    torch::manual_seed(1);
    net->push_back(torch::nn::Linear(1, 1));
    backward(accelerator, model);
    expect_reduced(accelerator, *net);
    // With different weights on each rank, they would train apart.
    torch::manual_seed(accelerator.process_index());
    net->push_back(torch::nn::Linear(1, 1));
    EXPECT_THAT([&] { backward(accelerator, model); },
                ThrowsMessage<std::runtime_error>(
                    AllOf(HasSubstr("3.weight"), HasSubstr("call prepare() again"))));
    EXPECT_THROW(backward(accelerator, model), std::runtime_error);
    accelerator.prepare(net);
    backward(accelerator, model);
    expect_reduced(accelerator, *net);
  });
}

// Without this check the ranks would wait for one another in different calls, or mix up gradients.
TEST(ChangingModelTest, WhatOneRankAloneChangesIsNamedOnAll) {
  const auto expect_cause = [](const std::string& cause, const auto& change) {
    on_ranks(2, [&] {
      Accelerator accelerator({.timeout = std::chrono::seconds(20)});
      torch::nn::Sequential net(torch::nn::Linear(1, 4), torch::nn::BatchNorm1d(4));
      auto model = accelerator.prepare(net);
      const auto pass = [&] { accelerator.backward(model->forward(torch::ones({2, 1})).sum()); };
      pass();
      if (!accelerator.is_main_process()) change(*net);
      EXPECT_THAT(pass, ThrowsMessage<CommunicationError>(HasSubstr(cause)));
    });
  };
  expect_cause("frozen or unfrozen", [](auto& net) { net.parameters()[0].requires_grad_(false); });
  expect_cause("train() or eval()", [](auto& net) { net.eval(); });
  expect_cause("loaded, cast, moved, added or removed",
               [](auto& net) { net.push_back(torch::nn::Linear(4, 1)); });
}

TEST(ChangingModelTest, RanksThatChangeDifferentThingsGetTheDifference) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto net = two_layers();
    auto model = accelerator.prepare(net);
    backward(accelerator, model);
    net->parameters()[accelerator.is_main_process() ? 0 : 1].requires_grad_(false);
    EXPECT_THAT([&] { backward(accelerator, model); },
                ThrowsMessage<std::runtime_error>(AllOf(
                    HasSubstr("parameter 0.weight"), HasSubstr("requires no gradient on rank 0"))));
  });
}

}  // namespace
}  // namespace accel::runtime
