// Compares training of two ranks on a GPU with plain LibTorch in one process.
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>
#include <torch/nn/modules/dropout.h>

#include <functional>
#include <string>
#include <vector>

#include "accel/optim.h"
#include "tests/gpu/gpu_ranks.h"

namespace accel {
namespace {

constexpr double kRate = 0.1;

// Returns the parameters after `steps` steps in fp32, over consecutive batches of 16 rows. Steps
// with `skips(step)` leave the parameters unchanged.
torch::Tensor reference(int steps, const std::function<bool(int)>& skips = nullptr) {
  auto net = small_network();
  net->to(torch::kCUDA);
  torch::optim::SGD sgd(net->parameters(), kRate);
  const torch::Tensor x = inputs().to(torch::kCUDA), y = targets().to(torch::kCUDA);
  for (int step = 0; step < steps; ++step) {
    if (skips && skips(step)) continue;
    sgd.zero_grad();
    const std::int64_t first = step % 4 * 16;
    torch::mse_loss(net->forward(x.narrow(0, first, 16)), y.narrow(0, first, 16)).backward();
    sgd.step();
  }
  return all_parameters(net);
}

// Returns the parameters after two epochs with the Accelerator. Batch k of one process has the rows
// 16k..16k+15, and so have the two batches of 8 of two processes together. Calls `after_step(step,
// skipped)` after each step.
torch::Tensor trained(Accelerator& accelerator,
                      const std::function<void(int, bool)>& after_step = nullptr) {
  auto net = small_network();
  torch::optim::SGD sgd(net->parameters(), kRate);
  auto [model, optimizer, loader] = accelerator.prepare(net, std::move(sgd), rows(8));
  int step = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (auto& batch : loader) {
      EXPECT_EQ(batch.data.device(), accelerator.device());
      optimizer.zero_grad();
      const torch::Tensor output = model(batch.data);
      EXPECT_EQ(output.scalar_type(), torch::kFloat);
      accelerator.backward(torch::mse_loss(output, batch.target));
      optimizer.step();
      if (after_step) after_step(step, optimizer.step_was_skipped());
      ++step;
    }
  }
  EXPECT_EQ(step, 8);
  return all_parameters(net);
}

// Returns how far training moves the parameters. The error of a lower precision is
// small in comparison.
double moved() { return distance(reference(8), reference(0)); }

void expect_same_on_all_ranks(Accelerator& accelerator, const torch::Tensor& parameters) {
  const torch::Tensor all = accelerator.gather(parameters.unsqueeze(0));
  EXPECT_TRUE(torch::equal(all[0], all[1]));
}

TEST(GpuTrainingTest, InFp32AsOneProcessDoes) {
  on_gpu_ranks(2, {}, [](Accelerator& accelerator) {
    EXPECT_LT(distance(trained(accelerator), reference(8)), 1e-5);
    EXPECT_GT(moved(), 0.05);
  });
}

TEST(GpuTrainingTest, InBf16AsOneProcessInFp32) {
  on_gpu_ranks(2, {.mixed_precision = MixedPrecision::kBf16}, [](Accelerator& accelerator) {
    const torch::Tensor parameters = trained(accelerator);
    EXPECT_LT(distance(parameters, reference(8)), 0.1 * moved());
    EXPECT_GT(distance(parameters, reference(8)), 1e-6) << "it was computed in fp32";
    expect_same_on_all_ranks(accelerator, parameters);
  });
}

TEST(GpuTrainingTest, WithCompressedGradientsAsWithWholeOnes) {
  for (const CommHook hook : {CommHook::kBf16, CommHook::kFp16}) {
    on_gpu_ranks(2, {.data_parallel = {.comm_hook = hook}}, [](Accelerator& accelerator) {
      const torch::Tensor parameters = trained(accelerator);
      EXPECT_LT(distance(parameters, reference(8)), 0.05 * moved());
      expect_same_on_all_ranks(accelerator, parameters);
    });
  }
}

// The scale grows after each two good steps, from 2^10, with which nothing overflows here, to 2^24,
// with which every gradient of the output overflows. Then it is reduced again.
TEST(GpuTrainingTest, InFp16TheScaleGrowsAndOverflowsAreSkipped) {
  const AcceleratorOptions options{.mixed_precision = MixedPrecision::kFp16,
                                   .loss_scaling = {.init_scale = 1024,
                                                    .growth_factor = 16384,
                                                    .backoff_factor = 1.0 / 16384,
                                                    .growth_interval = 2}};
  on_gpu_ranks(2, options, [](Accelerator& accelerator) {
    const auto skips = [](int step) { return step % 3 == 2; };
    const torch::Tensor parameters = trained(accelerator, [&](int step, bool skipped) {
      EXPECT_EQ(skipped, skips(step)) << "step " << step;
      EXPECT_EQ(accelerator.optimizer_step_was_skipped(), skips(step)) << "step " << step;
    });
    EXPECT_LT(distance(parameters, reference(8, skips)), 0.05 * moved());
    expect_same_on_all_ranks(accelerator, parameters);
  });
}

TEST(GpuTrainingTest, AccumulatedBatchesCountAsOne) {
  const AcceleratorOptions options{.gradient_accumulation = {.num_steps = 2}};
  on_gpu_ranks(2, options, [](Accelerator& accelerator) {
    auto net = small_network();
    torch::optim::SGD sgd(net->parameters(), kRate);
    auto [model, optimizer, loader] = accelerator.prepare(net, std::move(sgd), rows(4));
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (auto& batch : loader) {
        auto step = accelerator.accumulate(model);
        accelerator.backward(torch::mse_loss(model(batch.data), batch.target));
        optimizer.step();
        optimizer.zero_grad();
      }
    }
    EXPECT_LT(distance(all_parameters(net), reference(8)), 1e-5);
  });
}

TEST(GpuTrainingTest, NoSyncKeepsGradientsUntilTheNextReduction) {
  on_gpu_ranks(2, {}, [](Accelerator& accelerator) {
    const auto gradients = [](const torch::nn::Sequential& net) {
      std::vector<torch::Tensor> all;
      for (const auto& parameter : net->parameters()) all.push_back(parameter.grad().flatten());
      return torch::cat(all);
    };
    const torch::Tensor x = inputs().to(accelerator.device());
    const torch::Tensor y = targets().to(accelerator.device());
    const auto loss = [&](auto& model, std::int64_t first, std::int64_t count) {
      return torch::mse_loss(model(x.narrow(0, first, count)), y.narrow(0, first, count));
    };
    auto net = small_network(), whole = small_network();
    whole->to(accelerator.device());
    auto plain = [&whole](const torch::Tensor& rows) { return whole->forward(rows); };
    loss(plain, 0, 32).backward();
    loss(plain, 32, 32).backward();

    auto model = accelerator.prepare(net);
    const std::int64_t mine = 16 * accelerator.process_index();
    {
      auto paused = accelerator.no_sync(model);
      accelerator.backward(loss(model, mine, 16));
    }
    const torch::Tensor own = accelerator.gather(gradients(net).unsqueeze(0));
    EXPECT_GT(distance(own[0], own[1]), 1e-3);
    accelerator.backward(loss(model, 32 + mine, 16));
    EXPECT_LT(distance(gradients(net), gradients(whole)), 1e-5);
  });
}

// The host does not wait: the next operation on the buffers runs after the broadcast in
// the same stream.
TEST(GpuTrainingTest, BuffersFollowTheMainProcess) {
  on_gpu_ranks(2, {}, [](Accelerator& accelerator) {
    torch::nn::Sequential net(torch::nn::BatchNorm1d(8), torch::nn::Linear(8, 1));
    auto model = accelerator.prepare(net);
    for (int step = 0; step < 5; ++step) {
      const torch::Tensor x =
          torch::full({4, 8}, 1.0 + accelerator.process_index(), accelerator.device()) +
          torch::rand({4, 8}, accelerator.device());
      accelerator.backward(model(x).sum());
      for (const torch::Tensor& buffer : net->buffers()) {
        const torch::Tensor all = accelerator.gather(buffer.flatten().unsqueeze(0));
        EXPECT_TRUE(torch::equal(all[0], all[1])) << "step " << step;
      }
    }
  });
}

// Returns the parameters after ten steps with clipping and weight decay. The gradients of Adam's
// first steps are divided by their own size, so the precision is fp64.
template <typename AdamW>
torch::Tensor after_ten_steps() {
  auto net = small_network();
  net->to(torch::kCUDA, torch::kDouble);
  Accelerator accelerator;
  auto adamw = accelerator.prepare(
      AdamW(net->parameters(), torch::optim::AdamWOptions(0.01).weight_decay(1)));
  const torch::Tensor x = inputs().to(torch::kCUDA, torch::kDouble);
  for (int step = 0; step < 10; ++step) {
    adamw.zero_grad();
    accelerator.backward(net->forward(x).square().mean());
    const torch::Tensor norm = accelerator.clip_grad_norm_(net->parameters(), 0.01);
    EXPECT_TRUE(norm.is_cuda());
    adamw.step();
  }
  return all_parameters(net);
}

TEST(GpuTrainingTest, FusedOptimizersStepAsLibTorchs) {
  if (runtime::load_cuda() == 0) GTEST_SKIP() << "no GPU on this machine";
  const torch::Tensor fused = after_ten_steps<optim::AdamW>();
  EXPECT_LT(distance(fused, after_ten_steps<torch::optim::AdamW>()), 1e-6);
}

// The step and the clipping are queued behind work that takes seconds.
TEST(GpuTrainingTest, AStepWithClippingDoesNotWaitForTheGpu) {
  if (runtime::load_cuda() == 0) GTEST_SKIP() << "no GPU on this machine";
  Accelerator accelerator;
  auto net = small_network();
  auto [model, adamw] = accelerator.prepare(net, optim::AdamW(net->parameters()));
  const torch::Tensor x = inputs().to(accelerator.device());
  const auto step = [&, &model = model, &adamw = adamw] {
    adamw.zero_grad();
    accelerator.backward(model(x).square().mean());
    accelerator.clip_grad_norm_(net->parameters(), 1);
    adamw.step();
  };
  const torch::Tensor factor = torch::rand({8192, 8192}, accelerator.device());
  torch::Tensor product = torch::mm(factor, factor);
  step();
  torch::cuda::synchronize();
  for (int i = 0; i < 100; ++i) torch::mm_out(product, factor, factor);
  c10::Event busy(c10::kCUDA);
  busy.record(c10::impl::VirtualGuardImpl(c10::kCUDA).getStream(accelerator.device()));
  step();
  EXPECT_FALSE(busy.query()) << "the step waited for the GPU";
}

// The state is copied behind work that takes seconds, and changed immediately after that.
TEST(GpuTrainingTest, ASaveDoesNotWaitForTheGpuAndIsNotTorn) {
  if (runtime::load_cuda() == 0) GTEST_SKIP() << "no GPU on this machine";
  const std::string folder = testing::TempDir() + "/queued";
  Accelerator accelerator;
  torch::nn::Linear net(2048, 2048);
  auto [model, adamw] = accelerator.prepare(net, optim::AdamW(net->parameters()));
  const auto step = [&, &model = model, &adamw = adamw] {
    adamw.zero_grad();
    accelerator.backward(model(torch::ones({8, 2048}, accelerator.device())).square().mean());
    adamw.step();
  };
  const torch::Tensor factor = torch::rand({8192, 8192}, accelerator.device());
  torch::Tensor product = torch::mm(factor, factor);
  step();
  accelerator.save_state(folder);  // The first save allocates memory, which waits for the GPU.
  accelerator.wait_for_save();
  torch::cuda::synchronize();
  for (int i = 0; i < 100; ++i) torch::mm_out(product, factor, factor);
  c10::Event busy(c10::kCUDA);
  busy.record(c10::impl::VirtualGuardImpl(c10::kCUDA).getStream(accelerator.device()));
  step();
  const torch::Tensor expected = net->weight.detach().clone();
  accelerator.save_state(folder);
  {
    const torch::NoGradGuard no_grad;
    net->weight.zero_();
  }
  step();
  EXPECT_FALSE(busy.query()) << "the save waited for the GPU";
  accelerator.wait_for_save();
  EXPECT_TRUE(busy.query()) << "the checkpoint is older than its state";
  accelerator.load_state(folder);
  EXPECT_TRUE(torch::equal(net->weight, expected));
}

// The checkpoint has the GPU's random states, which differ between ranks, the state of an
// optimizer, and buffers.
TEST(GpuTrainingTest, ACheckpointContinuesInOtherObjects) {
  const std::string folder = testing::TempDir() + "/checkpoint";
  on_gpu_ranks(2, {}, [&](Accelerator& accelerator) {
    accelerator.set_seed(3, /*device_specific=*/true);
    const auto steps = [&](auto& model, auto& optimizer, int count) {
      for (int step = 0; step < count; ++step) {
        optimizer.zero_grad();
        accelerator.backward(model(torch::randn({4, 8}, accelerator.device())).pow(2).mean());
        optimizer.step();
      }
    };
    const auto make = [] {
      // No bias, because before the normalisation only noise would move it.
      return torch::nn::Sequential(torch::nn::Linear(torch::nn::LinearOptions(8, 8).bias(false)),
                                   torch::nn::BatchNorm1d(8), torch::nn::Dropout(0.5),
                                   torch::nn::Linear(8, 1));
    };
    const auto adam = [](const torch::nn::Sequential& net) {
      return torch::optim::AdamW(net->parameters(), torch::optim::AdamWOptions(0.01));
    };
    torch::Tensor expected, buffer;
    {
      auto net = make();
      auto [model, optimizer] = accelerator.prepare(net, adam(net));
      steps(model, optimizer, 2);
      accelerator.save_state(folder);
      steps(model, optimizer, 3);  // While the checkpoint is being written.
      accelerator.wait_for_save();
      expected = all_parameters(net);
      buffer = net->named_buffers()["1.running_var"].clone();
    }
    accelerator.free_memory();
    auto net = make();
    auto [model, optimizer] = accelerator.prepare(net, adam(net));
    accelerator.load_state(folder);
    steps(model, optimizer, 3);
    // With other random numbers, the distance would be about a hundred times larger.
    EXPECT_LT(distance(all_parameters(net), expected), 1e-4);
    EXPECT_LT(distance(net->named_buffers()["1.running_var"], buffer), 1e-4);
    const torch::Tensor drawn = accelerator.gather(torch::randn({1, 8}, accelerator.device()));
    EXPECT_FALSE(torch::equal(drawn[0], drawn[1]));
  });
}

}  // namespace
}  // namespace accel
