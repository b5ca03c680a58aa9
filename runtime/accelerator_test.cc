// One process: what prepare() makes of its arguments, and that nothing is changed without a world.
#include "runtime/accelerator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/data.h>
#include <torch/nn.h>
#include <torch/optim/sgd.h>

#include <cstdlib>
#include <stdexcept>

namespace accel {
namespace {

using torch::data::samplers::RandomSampler;
using torch::data::samplers::SequentialSampler;

torch::data::datasets::TensorDataset numbers(std::int64_t count) {
  return torch::data::datasets::TensorDataset(torch::arange(count));
}

auto stacked(std::int64_t count) {
  return numbers(count).map(torch::data::transforms::Stack<torch::data::TensorExample>());
}

std::vector<std::int64_t> pass(auto& loader) {
  std::vector<std::int64_t> all;
  for (auto& batch : loader) {
    for (std::int64_t i = 0; i < batch.data.size(0); ++i)
      all.push_back(batch.data[i].template item<std::int64_t>());
  }
  return all;
}

TEST(AcceleratorTest, IsOneProcessWithoutALauncher) {
  Accelerator accelerator;
  EXPECT_EQ(accelerator.num_processes(), 1);
  EXPECT_TRUE(accelerator.is_main_process() && accelerator.is_local_main_process() &&
              accelerator.is_last_process());
  EXPECT_FALSE(accelerator.use_distributed());
  accelerator.wait_for_everyone();
}

TEST(AcceleratorTest, PreparesInTheOrderGivenAndOnce) {
  Accelerator accelerator;
  torch::nn::Linear net(2, 2);
  auto module = std::make_shared<torch::nn::LinearImpl>(2, 2);
  auto [text, loader, optimizer, first, second] = accelerator.prepare(
      std::string("as it is"), make_data_loader<SequentialSampler>(stacked(5), 2),
      torch::optim::SGD(net->parameters(), 0.1), net, module);
  EXPECT_EQ(text, "as it is");
  EXPECT_EQ(loader.size(), 3u);
  EXPECT_EQ(accelerator.unwrap_model(first).get(), net.get());
  EXPECT_EQ(accelerator.unwrap_model(second), module);
  auto again = accelerator.prepare(first);
  static_assert(std::is_same_v<decltype(again), Model<torch::nn::Linear>>);
  auto optimizer_again = accelerator.prepare(optimizer);
  static_assert(std::is_same_v<decltype(optimizer_again), Optimizer<torch::optim::SGD>>);
  EXPECT_EQ(pass(loader), pass(loader));
}

TEST(AcceleratorTest, TrainsLikeThePlainLoop) {
  torch::manual_seed(3);
  torch::nn::Linear plain(3, 1), mine(3, 1);
  mine->weight.detach().copy_(plain->weight.detach());
  mine->bias.detach().copy_(plain->bias.detach());
  Accelerator accelerator;
  torch::optim::SGD sgd(plain->parameters(), 0.1);
  auto [model, optimizer] = accelerator.prepare(
      mine, std::make_shared<torch::optim::SGD>(mine->parameters(), torch::optim::SGDOptions(0.1)));
  for (int step = 0; step < 5; ++step) {
    const torch::Tensor x = torch::randn({4, 3});
    sgd.zero_grad();
    plain(x).square().mean().backward();
    sgd.step();
    optimizer.zero_grad();
    accelerator.backward(model(x).square().mean());
    optimizer.step();
  }
  EXPECT_TRUE(torch::equal(plain->weight, model->weight));
}

TEST(AcceleratorTest, CollectivesOfOneChangeNothing) {
  Accelerator accelerator;
  const torch::Tensor tensor = torch::arange(3);
  EXPECT_TRUE(accelerator.gather(tensor).is_same(tensor));
  EXPECT_TRUE(torch::equal(accelerator.reduce(tensor), tensor));
  EXPECT_FALSE(accelerator.reduce(tensor).is_same(tensor));
  EXPECT_EQ(accelerator.gather(torch::tensor(1)).dim(), 0);
  auto [one, two] = accelerator.gather_for_metrics(tensor, tensor);
  EXPECT_EQ(one.numel() + two.numel(), 6);
}

TEST(AcceleratorTest, OneProcessKeepsItsShortLastBatch) {
  Accelerator accelerator;
  auto loader = accelerator.prepare(make_data_loader<SequentialSampler>(stacked(5), 2));
  EXPECT_THAT(pass(loader), testing::ElementsAre(0, 1, 2, 3, 4));
  auto drop = accelerator.prepare(make_data_loader<SequentialSampler>(
      stacked(5), torch::data::DataLoaderOptions(2).drop_last(true)));
  EXPECT_THAT(pass(drop), testing::ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(drop.size(), 2u);
}

TEST(AcceleratorTest, WorkersDeliverTheSameBatchesInOrder) {
  Accelerator accelerator;
  torch::manual_seed(5);
  auto plain = accelerator.prepare(make_data_loader<RandomSampler>(stacked(40), 3));
  torch::manual_seed(5);
  auto threaded = accelerator.prepare(
      make_data_loader<RandomSampler>(stacked(40), torch::data::DataLoaderOptions(3).workers(2)));
  for (int epoch = 0; epoch < 2; ++epoch) EXPECT_EQ(pass(plain), pass(threaded));
}

TEST(AcceleratorTest, SamplersDoNotDisturbTheProcessGenerator) {
  Accelerator accelerator;
  auto loader = accelerator.prepare(make_data_loader<RandomSampler>(stacked(10), 2));
  torch::manual_seed(9);
  const torch::Tensor expected = torch::rand({3});
  torch::manual_seed(9);
  pass(loader);
  EXPECT_TRUE(torch::equal(torch::rand({3}), expected));
}

TEST(AcceleratorTest, AnotherCpuSettingIsRefusedWhileOneLives) {
  Accelerator accelerator({.cpu = true});
  EXPECT_THROW(Accelerator({.cpu = false}), std::invalid_argument);
}

TEST(AcceleratorTest, RefusesABadEnvironment) {
  setenv("RANK", "0", 1);
  EXPECT_THROW(Accelerator(), std::invalid_argument);
  unsetenv("RANK");
}

TEST(AcceleratorTest, ProgressCoversTheRangeAndEarlyExits) {
  Accelerator accelerator;
  auto loader = make_data_loader<SequentialSampler>(stacked(6), 2);
  int steps = 0;
  for (auto& batch : accelerator.progress(loader, "all"))
    steps += static_cast<int>(batch.data.size(0));
  EXPECT_EQ(steps, 6);
  for ([[maybe_unused]] auto& batch : accelerator.progress(loader)) break;
}

}  // namespace
}  // namespace accel
