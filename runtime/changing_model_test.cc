// Prepared models that a program changes, or leaves out, on the way.
#include <gtest/gtest.h>

#include "runtime/accelerator.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel {
namespace {

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

// As torch::load() does, buffers may come to lie elsewhere.
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

// Nothing stays behind for the passes that the processes make by themselves.
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

}  // namespace
}  // namespace accel
