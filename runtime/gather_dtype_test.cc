// Parameters of a sharded model may travel in bf16 when they are gathered.
#include <gtest/gtest.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <vector>

#include "accel/accelerator.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

constexpr std::int64_t kWidth = 128;

AcceleratorOptions options_with(GatherDtype dtype) {
  return {.cpu = true,
          .mixed_precision = "bf16",
          .sharding = ShardingOptions{.auto_wrap_policy = WrapPolicy::kTransformerBased,
                                      .transformer_layer_cls_to_wrap = {"Linear"},
                                      .gather_dtype = dtype}};
}

// Under autocast its layers compute in bf16.
torch::nn::Sequential linear_net() {
  using torch::nn::Linear;
  return torch::nn::Sequential(Linear(kWidth, kWidth), torch::nn::GELU(), Linear(kWidth, kWidth),
                               torch::nn::GELU(), Linear(kWidth, kWidth));
}

torch::Tensor flat(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> all;
  for (const torch::Tensor& one : tensors) all.push_back(one.detach().clone().flatten());
  return torch::cat(all);
}

torch::Tensor rounded(const torch::Tensor& tensor) {
  return tensor.to(torch::kBFloat16).to(torch::kFloat);
}

struct GatheringRun {
  explicit GatheringRun(GatherDtype dtype) : accelerator(options_with(dtype)) {
    torch::manual_seed(3);
    net = linear_net();
    initial = flat(net->parameters());
    model = accelerator.prepare(net);
    adam = accelerator.prepare(torch::optim::AdamW(net->parameters(), 0.01));
    torch::manual_seed(accelerator.process_index());
    x = torch::randn({8, kWidth});
  }

  // Returns the loss of each step.
  torch::Tensor train(int steps) {
    std::vector<torch::Tensor> losses;
    for (int step = 0; step < steps; ++step) {
      const torch::Tensor loss = model(x).to(torch::kFloat).square().mean();
      accelerator.backward(loss);
      losses.push_back(loss.detach());
      adam.step();
      adam.zero_grad();
    }
    return torch::stack(losses);
  }

  // Returns the exact parameters on rank 0.
  torch::Tensor saved() {
    std::vector<torch::Tensor> all;
    for (const auto& item : accelerator.get_state_dict(model)) all.push_back(item.value());
    return all.empty() ? torch::Tensor() : flat(all);
  }

  Accelerator accelerator;
  torch::nn::Sequential net{nullptr};
  torch::Tensor initial, x;
  Model<torch::nn::Sequential> model;
  Optimizer<torch::optim::AdamW> adam;
};

// Rounding a number twice is rounding it once.
TEST(GatherDtypeTest, LayersThatComputeInBf16TrainBitForBitTheSame) {
  on_ranks(2, [] {
    GatheringRun own(GatherDtype::kOwn), half(GatherDtype::kBfloat16);
    EXPECT_TRUE(torch::equal(own.train(4), half.train(4)));
    const torch::Tensor expected = own.saved(), result = half.saved();
    ASSERT_EQ(expected.defined(), own.accelerator.is_main_process());
    EXPECT_TRUE(!expected.defined() || torch::equal(expected, result));
  });
}

TEST(GatherDtypeTest, AReadHasRoundedNumbersAndAStateDictExactOnes) {
  on_ranks(2, [] {
    GatheringRun run(GatherDtype::kBfloat16);
    EXPECT_FALSE(torch::equal(run.initial, rounded(run.initial)));
    EXPECT_EQ(run.net->parameters()[0].scalar_type(), torch::kFloat);
    EXPECT_TRUE(torch::equal(flat(run.net->parameters()), rounded(run.initial)));
    const torch::Tensor saved = run.saved();
    EXPECT_TRUE(!saved.defined() || torch::equal(saved, run.initial));
    EXPECT_TRUE(torch::equal(flat(run.net->parameters()), rounded(run.initial)));
  });
}

// Returns how many bytes this process has sent over its sockets.
std::uint64_t bytes_sent() {
  std::uint64_t sent = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    tcp_info info{};
    socklen_t size = sizeof(info);
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) sent += info.tcpi_bytes_sent;
  }
  return sent;
}

TEST(GatherDtypeTest, HalfOfTheBytesTravel) {
  const auto compare = [] {
    const torch::NoGradGuard no_graph;
    double sent[2];
    for (const auto dtype : {GatherDtype::kOwn, GatherDtype::kBfloat16}) {
      GatheringRun run(dtype);
      const std::uint64_t before = bytes_sent();
      run.model(run.x);
      sent[dtype == GatherDtype::kBfloat16] = static_cast<double>(bytes_sent() - before);
    }
    const double half = 2 * 3 * kWidth * kWidth;  // The half of fp32 weights that a rank sends.
    EXPECT_GE(sent[0], half);
    EXPECT_LE(sent[1], 0.55 * sent[0]);
  };
  on_ranks(2, compare, {{"ACCEL_SHARED_MEMORY", "0"}});
}

}  // namespace
}  // namespace accel::runtime
