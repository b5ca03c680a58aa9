// Sharded training on GPUs, without a GPU: the ranks use a fake device and a fake NCCL.
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/optim/adamw.h>
#include <torch/utils.h>

#include <memory>
#include <string>
#include <vector>

#include "accel/sharding.h"
#include "runtime/comm/communicator.h"
#include "runtime/parallel/make_sharded.h"
#include "runtime/testing/fake_device.h"
#include "runtime/testing/fake_nccl.h"
#include "runtime/testing/ranks.h"

namespace accel::runtime {
namespace {

using ::testing::Contains;

// LibTorch moves no module to a device that it does not know.
struct LayerImpl : torch::nn::Module {
  LayerImpl(std::int64_t inputs, std::int64_t outputs, c10::Device device) : Module("Layer") {
    weight = register_parameter("weight", at::randn({outputs, inputs}).to(device));
    bias = register_parameter("bias", at::randn({outputs}).to(device));
  }
  at::Tensor forward(const at::Tensor& inputs) { return at::linear(inputs, weight, bias); }
  at::Tensor weight, bias;
};
TORCH_MODULE(Layer);

struct NetImpl : torch::nn::Module {
  explicit NetImpl(c10::Device device) : Module("Net") {
    torch::manual_seed(7);
    first = register_module("first", Layer(6, 9, device));
    second = register_module("second", Layer(9, 3, device));
  }
  at::Tensor forward(const at::Tensor& inputs) { return second(first(inputs).relu()); }
  Layer first{nullptr}, second{nullptr};
};
TORCH_MODULE(Net);

ShardingOptions options(GatherDtype gather_dtype = GatherDtype::kOwn) {
  return {.auto_wrap_policy = WrapPolicy::kTransformerBased,
          .transformer_layer_cls_to_wrap = {"Layer"},
          .gather_dtype = gather_dtype};
}

// Trains for three steps on `device`. Returns the parameters on the CPU.
std::vector<at::Tensor> train(const std::shared_ptr<Communicator>& world, c10::Device device,
                              const ShardingOptions& sharding) {
  Net net(device);
  const auto strategy = make_sharded(net.ptr(), world, sharding, world->size(), {});
  strategy->prepare({});
  torch::optim::AdamW optimizer(net->parameters(), torch::optim::AdamWOptions(0.1));
  torch::manual_seed(world->rank());
  for (int i = 0; i < 3; ++i) {
    strategy->follow_changes();
    strategy->agree_on_changes();
    const at::Tensor loss = net->forward(at::randn({4, 6}).to(device)).square().mean();
    strategy->before_backward(loss);
    loss.backward();
    strategy->after_backward(loss);
    const auto stepping = strategy->begin_step();
    const c10::Device parts = sharding.offload_params ? c10::Device(at::kCPU) : device;
    for (const at::Tensor& parameter : net->parameters()) {
      EXPECT_EQ(parameter.device(), parts);
      EXPECT_EQ(parameter.grad().device(), parts);
    }
    optimizer.step();
    if (i == 1) optimizer.zero_grad();  // The gradients of the third pass are added to none.
  }
  const auto whole = strategy->begin_whole(/*is_written=*/false);
  std::vector<at::Tensor> values;
  for (const at::Tensor& parameter : net->parameters()) {
    EXPECT_EQ(parameter.device(), device);
    values.push_back(parameter.detach().cpu().clone());
  }
  return values;
}

void expect_equal(const std::vector<at::Tensor>& left, const std::vector<at::Tensor>& right) {
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i) EXPECT_TRUE(left[i].equal(right[i])) << i;
}

TEST(ShardedDeviceTest, ADeviceGivesTheResultsOfTheHost) {
  on_ranks(2, [] {
    const auto world = join_fake_gpus();
    for (const GatherDtype dtype : {GatherDtype::kOwn, GatherDtype::kBfloat16}) {
      expect_equal(train(world, kFakeDevice, options(dtype)),
                   train(world, at::kCPU, options(dtype)));
    }
  });
}

TEST(ShardedDeviceTest, OffloadedPartsGiveTheSameResults) {
  on_ranks(2, [] {
    const auto world = join_fake_gpus();
    for (const GatherDtype dtype : {GatherDtype::kOwn, GatherDtype::kBfloat16}) {
      ShardingOptions offloaded = options(dtype);
      offloaded.offload_params = true;
      expect_equal(train(world, kFakeDevice, offloaded), train(world, kFakeDevice, options(dtype)));
    }
    EXPECT_THAT(fake_notes(), Contains("copy of pinned memory in the current stream"));
  });
}

}  // namespace
}  // namespace accel::runtime
