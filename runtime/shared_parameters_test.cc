// Prepared models that have parameters in common.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/embedding.h>

#include <stdexcept>

#include "accel/accelerator.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using torch::nn::Linear;
using torch::nn::Sequential;

// Each head contributes the input to the gradient of the trunk. A head's gradient is
// twice its input.
struct Networks {
  Networks() {
    torch::NoGradGuard no_grad;
    trunk->weight.fill_(2);
    for (Linear& head : heads) head->weight.fill_(1);
  }
  static Linear layer() { return Linear(torch::nn::LinearOptions(1, 1).bias(false)); }
  Linear trunk = layer();
  std::vector<Linear> heads = {layer(), layer()};
  Sequential first = Sequential(trunk, heads[0]), second = Sequential(trunk, heads[1]);

  void zero_grad() {
    first->zero_grad();
    second->zero_grad();
  }
  // Returns the gradients of the trunk and of the heads, 0 for undefined ones.
  std::vector<float> gradients() const {
    std::vector<float> all;
    for (const Linear& one : {trunk, heads[0], heads[1]}) {
      all.push_back(one->weight.grad().defined() ? one->weight.grad().item<float>() : 0);
    }
    return all;
  }
};

using Gradients = std::vector<float>;

torch::Tensor input(const Accelerator& accelerator) {
  return torch::full({1, 1}, accelerator.is_main_process() ? 1.0 : 3.0);
}

TEST(SharedParametersTest, ASharedTrunkIsReducedWithTheModelOfTheLoss) {
  on_ranks(2, [] {
    for (const DataParallelOptions& options :
         {DataParallelOptions{}, DataParallelOptions{.find_unused_parameters = true},
          DataParallelOptions{.gradient_as_bucket_view = false}}) {
      Accelerator accelerator({.data_parallel = options});
      Networks nets;
      auto one = accelerator.prepare(nets.first);
      const torch::Tensor x = input(accelerator);
      accelerator.backward(one->forward(x).sum());
      EXPECT_EQ(nets.gradients(), (Gradients{2, 4, 0}));
      auto two = accelerator.prepare(nets.second);
      for (int round = 0; round < 3; ++round) {
        nets.zero_grad();
        accelerator.backward(one->forward(x).sum());
        EXPECT_EQ(nets.gradients(), (Gradients{2, 4, 0}));
        accelerator.backward(two->forward(x).sum());
        EXPECT_EQ(nets.gradients(), (Gradients{4, 4, 4}));
        accelerator.backward((one->forward(x) + two->forward(x)).sum());
        EXPECT_EQ(nets.gradients(), (Gradients{8, 8, 8}));
      }
      {
        // An unreduced gradient in a model is part of the next pass that reduces it.
        nets.zero_grad();
        auto alone = accelerator.no_sync(one, two);
        accelerator.backward(one->forward(x).sum());
        EXPECT_EQ(nets.gradients()[0], x.item<float>());
      }
      accelerator.backward((one->forward(x) + two->forward(x)).sum());
      EXPECT_EQ(nets.gradients(), (Gradients{6, 8, 4}));
    }
  });
}

TEST(SharedParametersTest, APartMayBePreparedToo) {
  on_ranks(2, [] {
    Accelerator accelerator;
    Networks nets;
    auto [net, trunk] = accelerator.prepare(nets.first, nets.trunk);
    const torch::Tensor x = input(accelerator);
    for (int round = 0; round < 3; ++round) {
      nets.zero_grad();
      accelerator.backward(trunk->forward(x).sum());
      EXPECT_EQ(nets.gradients(), (Gradients{2, 0, 0}));
      accelerator.backward(net->forward(x).sum());
      EXPECT_EQ(nets.gradients(), (Gradients{4, 4, 0}));
    }
  });
}

TEST(SharedParametersTest, AStaticGraphAndSparseGradientsAreRefused) {
  on_ranks(2, [] {
    Accelerator accelerator({.data_parallel = {.static_graph = true}});
    Networks nets;
    auto [one, two] = accelerator.prepare(nets.first, nets.second);
    EXPECT_THAT([&] { accelerator.backward(one->forward(input(accelerator)).sum()); },
                ThrowsMessage<std::invalid_argument>(HasSubstr("static_graph")));
    accelerator.free_memory();
    Accelerator plain;
    torch::nn::Embedding words(torch::nn::EmbeddingOptions(2, 1).sparse(true));
    auto [table, net] = plain.prepare(words, Sequential(words, Networks::layer()));
    EXPECT_THAT([&] { plain.backward(table->forward(torch::tensor({1L})).sum()); },
                ThrowsMessage<std::invalid_argument>(HasSubstr("sparse gradients")));
  });
}

}  // namespace
}  // namespace accel::runtime
