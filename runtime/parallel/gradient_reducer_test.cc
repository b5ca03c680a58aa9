// The sizes of gradient buckets, and the mean that each pass leaves, with several processes.
#include "runtime/parallel/gradient_reducer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "runtime/process/read_environment.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kWidth = 512;  // A layer has 1 MiB.

torch::nn::Sequential layers(int count) {
  torch::nn::Sequential net;
  for (int i = 0; i < count; ++i) {
    net->push_back(torch::nn::Linear(torch::nn::LinearOptions(kWidth, kWidth).bias(false)));
  }
  return net;
}

// Returns the sizes of the buckets in the third pass, in MiB; their order was learned in the first.
// Expects that each pass leaves the mean of all ranks' gradients.
std::vector<std::size_t> buckets_of(int layer_count) {
  const auto communicator =
      Communicator::join(read_environment(), at::kCPU, std::chrono::seconds(60));
  torch::manual_seed(1);
  auto net = layers(layer_count);
  GradientReducer reducer(ModelTensors(net.ptr()).trained(), communicator, {});
  torch::manual_seed(communicator->rank());
  for (int pass = 0; pass < 3; ++pass) {
    net->zero_grad();
    const torch::Tensor loss = net->forward(torch::randn({2, kWidth})).square().sum();
    const auto mine = torch::autograd::grad({loss}, net->parameters(), {}, /*retain_graph=*/true);
    reducer.begin_pass({loss});
    loss.backward();
    EXPECT_TRUE(reducer.end_pass());
    for (std::size_t i = 0; i < mine.size(); ++i) {
      communicator->all_reduce_sum(mine[i]);
      EXPECT_TRUE(torch::allclose(net->parameters()[i].grad(), mine[i] / communicator->size()))
          << "layer " << i << " in pass " << pass;
    }
  }
  std::vector<std::size_t> mebibytes;
  for (const std::size_t bytes : reducer.bucket_bytes()) mebibytes.push_back(bytes >> 20);
  return mebibytes;
}

// The first bucket is small, so that communication begins early. Models of a few MiB have several
// buckets, so that communication overlaps with the rest of the pass.
TEST(GradientReducerTest, BucketsBeginSmall) {
  on_ranks(2, [] { EXPECT_THAT(buckets_of(2), ElementsAre(1, 1)); });
  on_ranks(3, [] { EXPECT_THAT(buckets_of(8), ElementsAre(1, 7)); });
  on_ranks(2, [] { EXPECT_THAT(buckets_of(40), ElementsAre(1, 25, 14)); });
}

}  // namespace
}  // namespace accel::runtime
