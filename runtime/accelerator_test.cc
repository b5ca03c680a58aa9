// One process: prepare() wraps its arguments, and training gives the same results as without accel.
#include "accel/accelerator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ranges>
#include <sstream>
#include <stdexcept>

#include "accel/data_loader.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
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

// A class of a program, with members that are assigned later.
struct Trainer {
  Model<torch::nn::Linear> model;
  Optimizer<torch::optim::SGD> optimizer;
  TorchScheduler<torch::optim::StepLR> scheduler;
  decltype(make_data_loader<SequentialSampler>(stacked(5), 2)) loader;
};

TEST(AcceleratorTest, MembersAreAssignedLater) {
  Trainer trainer;
  EXPECT_THROW(trainer.model(torch::ones({1, 2})), std::logic_error);
  EXPECT_THROW(trainer.model->parameters(), std::logic_error);
  EXPECT_THROW(trainer.optimizer.step(), std::logic_error);
  EXPECT_THROW(trainer.optimizer.zero_grad(), std::logic_error);
  EXPECT_THROW(trainer.scheduler.step(), std::logic_error);
  EXPECT_THROW(trainer.loader.begin(), std::logic_error);
  EXPECT_THROW(trainer.loader.size(), std::logic_error);

  Accelerator accelerator;
  torch::nn::Linear net(2, 2);
  trainer.model = accelerator.prepare(net);
  trainer.optimizer = accelerator.prepare(torch::optim::SGD(net->parameters(), 0.1));
  trainer.scheduler = accelerator.prepare(torch::optim::StepLR(*trainer.optimizer, 1));
  trainer.loader = accelerator.prepare(make_data_loader<SequentialSampler>(stacked(5), 2));
  accelerator.backward(trainer.model(torch::ones({1, 2})).sum());
  trainer.optimizer.step();
  trainer.scheduler.step();
  std::size_t batches = 0;
  for ([[maybe_unused]] auto& batch : *trainer.loader) ++batches;
  EXPECT_EQ(batches, 3u);
}

TEST(AcceleratorTest, NothingCannotBePrepared) {
  Accelerator accelerator;
  EXPECT_THROW(accelerator.prepare(std::shared_ptr<torch::nn::LinearImpl>()),
               std::invalid_argument);
  EXPECT_THROW(accelerator.prepare(torch::nn::Linear(nullptr)), std::invalid_argument);
  EXPECT_THROW(accelerator.prepare(std::shared_ptr<torch::optim::SGD>()), std::invalid_argument);
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

// A module on the meta device, from which tensors cannot be moved.
struct Moved : torch::nn::Module {
  using torch::nn::Module::to;
  void to(torch::Device device, bool non_blocking) override {
    ++moves;
    Module::to(device, non_blocking);
  }
  torch::Tensor forward(const torch::Tensor& x) { return w * x; }

  torch::Tensor w = register_parameter("w", torch::zeros({2}));
  int moves = 0;
};

TEST(AcceleratorTest, AStateDictIsTheModelsMemory) {
  Accelerator accelerator;
  torch::nn::Sequential net(torch::nn::Linear(2, 3), torch::nn::BatchNorm1d(3));
  const auto state = accelerator.get_state_dict(accelerator.prepare(net));
  EXPECT_THAT(state.keys(),
              testing::ElementsAre("0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean",
                                   "1.running_var", "1.num_batches_tracked"));
  EXPECT_TRUE(state["0.weight"].is_alias_of(net->parameters()[0]));
  EXPECT_FALSE(state["0.weight"].requires_grad());
  EXPECT_EQ(accelerator.get_state_dict(net).size(), 7u);
}

TEST(AcceleratorTest, TellsWhereItsProjectIs) {
  Accelerator accelerator({.project = {.project_dir = "/runs", .iteration = 3}});
  EXPECT_EQ(accelerator.project_dir(), "/runs");
  EXPECT_EQ(accelerator.logging_dir(), "/runs");
  EXPECT_EQ(accelerator.save_iteration(), 3u);
  EXPECT_EQ(
      Accelerator({.project = {.project_dir = "/runs", .logging_dir = "/logs"}}).logging_dir(),
      "/logs");
}

TEST(AcceleratorTest, SendsStructuresToADevice) {
  const auto batch = std::tuple{std::map<std::string, torch::Tensor>{{"x", torch::ones({2})}},
                                std::vector<torch::Tensor>{torch::ones({1}), torch::Tensor()},
                                std::string("names stay"), torch::ones({1})};
  const auto sent = send_to_device(batch, torch::kMeta, /*non_blocking=*/true);
  EXPECT_TRUE(std::get<0>(sent).at("x").is_meta() && std::get<1>(sent)[0].is_meta() &&
              std::get<3>(sent).is_meta());
  EXPECT_FALSE(std::get<1>(sent)[1].defined());
  EXPECT_EQ(std::get<2>(sent), "names stay");
  const torch::Tensor here = torch::ones({1});
  EXPECT_TRUE(send_to_device(here, torch::kCPU).is_same(here));
}

TEST(AcceleratorTest, ModelsStayWhereTheyAreIfAskedTo) {
  Accelerator placing, leaving({.device_placement = false});
  const auto moves = [](Accelerator& accelerator, std::optional<bool> device_placement) {
    const auto module = std::make_shared<Moved>();
    accelerator.prepare_model(module, {.device_placement = device_placement});
    return module->moves;
  };
  EXPECT_EQ(moves(placing, std::nullopt), 1);
  EXPECT_EQ(moves(placing, false), 0);
  EXPECT_EQ(moves(leaving, std::nullopt), 0);
  EXPECT_EQ(moves(leaving, true), 1);
}

TEST(AcceleratorTest, FreeMemoryLetsGoOfWhatWasPrepared) {
  Accelerator accelerator({.mixed_precision = MixedPrecision::kFp16});
  std::weak_ptr<torch::nn::LinearImpl> model;
  std::weak_ptr<torch::optim::SGD> optimizer;
  {
    auto net = std::make_shared<torch::nn::LinearImpl>(2, 2);
    auto sgd = std::make_shared<torch::optim::SGD>(net->parameters(), 0.1);
    auto [prepared, stepped] = accelerator.prepare(net, sgd);
    model = net;
    optimizer = sgd;
    auto step = accelerator.accumulate(prepared);
  }
  EXPECT_FALSE(model.expired() || optimizer.expired());
  accelerator.free_memory();
  EXPECT_TRUE(model.expired() && optimizer.expired());
  auto next = std::make_shared<torch::nn::LinearImpl>(2, 2);
  auto sgd = std::make_shared<torch::optim::SGD>(next->parameters(), 0.1);
  auto [prepared, stepped] = accelerator.prepare(next, sgd);
  accelerator.backward(prepared(torch::ones({1, 2})).sum() / 100);
  stepped.step();
  EXPECT_FALSE(accelerator.optimizer_step_was_skipped());
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

// A short last window is the mean of its batches, as if they had been one batch.
TEST(AcceleratorTest, AccumulatesBatchesIntoOneStep) {
  Accelerator accelerator({.gradient_accumulation = {.num_steps = 4}});
  torch::nn::Linear net(torch::nn::LinearOptions(1, 1).bias(false));
  net->weight.detach().zero_();
  auto [model, optimizer, loader] =
      accelerator.prepare(net, torch::optim::SGD(net->parameters(), 1.0),
                          make_data_loader<SequentialSampler>(stacked(6), 1));
  std::vector<float> weights;
  for (auto& batch : loader) {
    auto step = accelerator.accumulate(model);
    accelerator.backward(model(batch.data.to(torch::kFloat).unsqueeze(1)).sum());
    optimizer.step();
    optimizer.zero_grad();
    weights.push_back(net->weight.item<float>());
  }
  EXPECT_THAT(weights, testing::ElementsAre(0, 0, 0, -1.5, -1.5, -1.5 - 4.5));
}

// One parameter under two names.
struct Tied : torch::nn::Module {
  torch::Tensor w = register_parameter("w", torch::zeros({1}));
  torch::Tensor again = register_parameter("again", w);
  torch::Tensor forward(const torch::Tensor& x) { return w * x; }
};

TEST(AcceleratorTest, ATiedParameterIsWeighedOnceInAShortWindow) {
  Accelerator accelerator({.gradient_accumulation = {.num_steps = 4}});
  const auto tied = std::make_shared<Tied>();
  auto [model, optimizer, loader] = accelerator.prepare(
      tied, torch::optim::SGD({tied->w}, 1.0), make_data_loader<SequentialSampler>(stacked(2), 1));
  for (auto& batch : loader) {
    auto step = accelerator.accumulate(model);
    accelerator.backward(model(2 + batch.data.to(torch::kFloat)).sum());
    optimizer.step();
  }
  EXPECT_FLOAT_EQ(tied->w.item<float>(), -2.5);  // The mean of 2 and 3.
}

TEST(AcceleratorTest, ClipsGradients) {
  Accelerator accelerator;
  torch::Tensor parameter = torch::zeros(2, torch::requires_grad());
  parameter.mutable_grad() = torch::tensor({3.0f, -4.0f});
  // Listed twice, as a tied parameter is, but it must count once.
  EXPECT_FLOAT_EQ(accelerator.clip_grad_norm_({parameter, parameter}, 1).item<float>(), 5);
  EXPECT_NEAR(parameter.grad()[1].item<float>(), -0.8, 1e-6);
  accelerator.clip_grad_value_({parameter}, 0.7);
  EXPECT_NEAR(parameter.grad()[0].item<float>(), 0.6, 1e-6);
  EXPECT_FLOAT_EQ(parameter.grad()[1].item<float>(), -0.7f);
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
  std::istringstream words("one two three");
  auto unsized = std::ranges::istream_view<std::string>(words);
  testing::internal::CaptureStderr();
  int count = 0;
  for ([[maybe_unused]] const std::string& word : accelerator.progress(unsized, "words")) ++count;
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("words 3 00:00"));
}

}  // namespace
}  // namespace accel::runtime
