// The runtime over NCCL, with several ranks on one GPU: NCCL allows that to processes that claim
// to be on different hosts (NCCL_HOSTID), which then talk through sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/accelerator.h"
#include "runtime/comm/nccl_backend.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Variables kOneGpu{{"CUDA_VISIBLE_DEVICES", "0"}, {"NCCL_SOCKET_IFNAME", "lo"},
                        {"NCCL_IB_DISABLE", "1"},      {"NCCL_MAX_CTAS", "1"},
                        {"NCCL_NET", "Socket"},        {"ACCELERATE_USE_CPU", "false"}};

// Runs `body(accelerator)` on `world_size` ranks of one GPU, or skips the test.
template <typename Body>
void on_gpu_ranks(int world_size, const AcceleratorOptions& options, Body&& body) {
  if (load_cuda() == 0) GTEST_SKIP() << "no GPU on this machine";
  on_ranks(
      world_size,
      [&] {
        setenv("NCCL_HOSTID", std::getenv("RANK"), 1);
        setenv("LOCAL_RANK", "0", 1);
        Accelerator accelerator(options);
        ASSERT_TRUE(accelerator.device().is_cuda());
        body(accelerator);
      },
      kOneGpu);
}

torch::nn::Sequential small_network() {
  torch::manual_seed(5);
  return torch::nn::Sequential(torch::nn::Linear(8, 16), torch::nn::Tanh(),
                               torch::nn::Linear(16, 1));
}

// Row i of a data set of 64 and its target.
torch::Tensor inputs() { return torch::linspace(-1, 1, 64 * 8).view({64, 8}); }
torch::Tensor targets() { return inputs().sum(1, true).sin(); }

struct Rows : torch::data::datasets::Dataset<Rows> {
  torch::data::Example<> get(std::size_t index) override {
    const auto row = static_cast<std::int64_t>(index);
    return {inputs()[row], targets()[row]};
  }
  std::optional<std::size_t> size() const override { return 64; }
};

auto rows(std::size_t batch_size) {
  return make_data_loader<torch::data::samplers::SequentialSampler>(
      Rows().map(torch::data::transforms::Stack<>()), batch_size);
}

// The parameters after two epochs in plain LibTorch on one GPU, batches of 16.
torch::Tensor reference() {
  auto model = small_network();
  model->to(torch::kCUDA);
  torch::optim::SGD sgd(model->parameters(), 0.1);
  const torch::Tensor x = inputs().cuda(), y = targets().cuda();
  for (int step = 0; step < 8; ++step) {
    sgd.zero_grad();
    const std::int64_t first = step % 4 * 16;
    torch::mse_loss(model->forward(x.narrow(0, first, 16)), y.narrow(0, first, 16)).backward();
    sgd.step();
  }
  return torch::nn::utils::parameters_to_vector(model->parameters());
}

TEST(NcclTest, CollectivesOfTwoRanks) {
  on_gpu_ranks(2, {}, [](Accelerator& accelerator) {
    const std::int64_t rank = accelerator.process_index();
    const torch::Tensor row = torch::tensor({{rank, 10 + rank}}, accelerator.device());
    EXPECT_THAT(values(accelerator.gather(row)), ElementsAre(0, 10, 1, 11));
    EXPECT_THAT(values(accelerator.gather(row[0][0])), ElementsAre(0, 1));
    EXPECT_THAT(values(accelerator.reduce(row)), ElementsAre(1, 21));
    EXPECT_THAT(values(accelerator.reduce(row, torch::kMax)), ElementsAre(1, 11));
    EXPECT_THAT(values(accelerator.broadcast(row, 1)), ElementsAre(1, 11));
    const torch::Tensor ragged = torch::ones({rank + 1}, row.options());
    EXPECT_THAT(values(accelerator.gather(accelerator.pad_across_processes(ragged))),
                ElementsAre(1, 0, 1, 1));
    EXPECT_THAT(accelerator.gather_object({std::string(static_cast<std::size_t>(rank), 'x')}),
                ElementsAre("", "x"));
    if (rank == 1) accelerator.set_trigger();
    EXPECT_TRUE(accelerator.check_trigger());
    accelerator.synchronize_rng_states();
    accelerator.wait_for_everyone();
  });
}

TEST(NcclTest, TrainsAsOneProcessDoes) {
  on_gpu_ranks(2, {}, [](Accelerator& accelerator) {
    auto net = small_network();
    torch::optim::SGD sgd(net->parameters(), 0.1);
    auto [model, optimizer, loader] = accelerator.prepare(net, std::move(sgd), rows(8));
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (auto& batch : loader) {
        EXPECT_TRUE(batch.data.is_cuda());
        optimizer.zero_grad();
        accelerator.backward(torch::mse_loss(model(batch.data), batch.target));
        optimizer.step();
      }
    }
    // Batch k of one process is rows 16k..16k+15, and so are two batches of 8 side by side.
    const torch::Tensor trained = torch::nn::utils::parameters_to_vector(net->parameters());
    EXPECT_LT((trained - reference()).abs().max().item<float>(), 1e-5);
  });
}

TEST(NcclTest, ACheckpointOfTheGpuGoesOn) {
  const std::string folder = testing::TempDir() + "/checkpoint";
  on_gpu_ranks(2, {}, [&](Accelerator& accelerator) {
    auto net = small_network();
    torch::optim::AdamW adam(net->parameters(), torch::optim::AdamWOptions(0.01));
    auto [model, optimizer] = accelerator.prepare(net, std::move(adam));
    const auto step = [&, &model = model, &optimizer = optimizer] {
      optimizer.zero_grad();
      const torch::Tensor noise = torch::randn({4, 8}, accelerator.device());
      accelerator.backward(model(noise).pow(2).mean());
      optimizer.step();
      return torch::nn::utils::parameters_to_vector(net->parameters()).detach().clone();
    };
    step();
    accelerator.save_state(folder);
    accelerator.wait_for_save();
    const torch::Tensor expected = step();
    accelerator.load_state(folder);
    EXPECT_TRUE(torch::equal(step(), expected));
  });
}

TEST(NcclTest, ACallThatOneRankDoesNotReachNamesIt) {
  const std::string done = testing::TempDir() + "/done";
  on_gpu_ranks(2, {.timeout = std::chrono::seconds(8)}, [&](Accelerator& accelerator) {
    accelerator.wait_for_everyone();
    if (!accelerator.is_main_process()) {
      while (!std::filesystem::exists(done)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      std::_Exit(0);  // Without the peer, nothing is tidied up.
    }
    try {
      accelerator.gather(torch::ones({1}, accelerator.device()));
      ADD_FAILURE() << "gathered without rank 1";
    } catch (const CommunicationError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("rank 0 of 2: gather (all_gather) failed"),
                                      HasSubstr("rank 1 has not called it")));
    }
    // The GPU is free again for this process.
    EXPECT_EQ(torch::ones({2}, accelerator.device()).sum().item<float>(), 2);
    std::ofstream{done};
    std::_Exit(testing::Test::HasFailure() ? 1 : 0);
  });
}

}  // namespace
}  // namespace accel
