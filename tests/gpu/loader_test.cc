// Batches are copied to a GPU while it computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "tests/gpu/gpu_ranks.h"

namespace accel {
namespace {

constexpr std::int64_t kWidth = 1 << 18;

// Sample i consists of kWidth numbers i.
struct WideNumbers : torch::data::datasets::BatchDataset<WideNumbers, torch::Tensor> {
  torch::Tensor get_batch(c10::ArrayRef<std::size_t> indices) override {
    const runtime::Values numbers(indices.begin(), indices.end());
    return torch::tensor(numbers, torch::kLong).view({-1, 1}).repeat({1, kWidth});
  }
  std::optional<std::size_t> size() const override { return 200; }
};

// The numbers would be wrong if the computation did not wait for a copy, or if memory were
// reused too soon.
TEST(GpuLoaderTest, BatchesAreWholeAlthoughTheyAreCopiedDuringTheComputation) {
  if (runtime::load_cuda() == 0) GTEST_SKIP() << "no GPU on this machine";
  for (const bool ahead : {true, false}) {
    Accelerator accelerator({.pin_memory = ahead, .non_blocking = ahead});
    ASSERT_TRUE(accelerator.device().is_cuda());
    for (const std::size_t workers : {0, 2}) {
      auto loader = accelerator.prepare(make_data_loader<torch::data::samplers::SequentialSampler>(
          WideNumbers(), torch::data::DataLoaderOptions(4).workers(workers)));
      const torch::Tensor busy = torch::rand({2048, 2048}, accelerator.device());
      std::vector<torch::Tensor> low, high;
      for (const torch::Tensor& batch : loader) {
        ASSERT_EQ(batch.device(), accelerator.device());
        for (int i = 0; i < 4; ++i) torch::mm(busy, busy);
        low.push_back(batch.amin(1));
        high.push_back(batch.amax(1));
      }
      runtime::Values expected(200);
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(runtime::values(torch::cat(low)), expected);
      EXPECT_EQ(runtime::values(torch::cat(high)), expected);
    }
  }
}

// Makes its batches on "cuda". Needs two GPUs, because a thread starts on the first one.
struct OnCuda : WideNumbers {
  torch::Tensor get_batch(c10::ArrayRef<std::size_t> indices) override {
    return torch::zeros({static_cast<std::int64_t>(indices.size())}, torch::kCUDA);
  }
};

TEST(GpuLoaderTest, WorkersReadOnTheGpuOfTheirProcess) {
  if (runtime::load_cuda() < 2) GTEST_SKIP() << "no two GPUs on this machine";
  runtime::on_ranks(2,
                    [] {
                      Accelerator accelerator({.device_placement = false});
                      auto loader = accelerator.prepare(
                          make_data_loader<torch::data::samplers::SequentialSampler>(
                              OnCuda(), torch::data::DataLoaderOptions(50).workers(2)));
                      for (const torch::Tensor& batch : loader)
                        EXPECT_EQ(batch.device(), accelerator.device());
                    },
                    {{"ACCELERATE_USE_CPU", "false"}});
}

// Rank 0 reads and scatters while all ranks compute. Samples have 16-bit integers, which NCCL can
// move but not reduce.
struct WideShorts : WideNumbers {
  torch::Tensor get_batch(c10::ArrayRef<std::size_t> indices) override {
    return WideNumbers::get_batch(indices).to(torch::kShort);
  }
};

TEST(GpuLoaderTest, DispatchedBatchesAreWholeAndEachSampleComesOnce) {
  for (const bool ahead : {true, false}) {
    const AcceleratorOptions options{
        .dispatch_batches = true, .pin_memory = ahead, .non_blocking = ahead};
    on_gpu_ranks(2, options, [](Accelerator& accelerator) {
      auto loader = accelerator.prepare(
          make_data_loader<torch::data::samplers::SequentialSampler>(WideShorts(), 6));
      const torch::Tensor busy = torch::rand({2048, 2048}, accelerator.device());
      std::vector<torch::Tensor> low, high;
      for (const torch::Tensor& batch : loader) {
        ASSERT_EQ(batch.device(), accelerator.device());
        ASSERT_EQ(batch.scalar_type(), torch::kShort);
        for (int i = 0; i < 4; ++i) torch::mm(busy, busy);
        low.push_back(accelerator.gather_for_metrics(batch.amin(1)));
        high.push_back(accelerator.gather_for_metrics(batch.amax(1)));
      }
      runtime::Values expected(200);
      std::iota(expected.begin(), expected.end(), 0);
      const auto sorted = [](const std::vector<torch::Tensor>& parts) {
        return runtime::values(std::get<0>(torch::cat(parts).to(torch::kLong).sort()));
      };
      EXPECT_EQ(sorted(low), expected);
      EXPECT_EQ(sorted(high), expected);
    });
  }
}

}  // namespace
}  // namespace accel
