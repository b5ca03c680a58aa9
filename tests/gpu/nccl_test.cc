// The runtime over NCCL: collectives, control of processes, and calls in which a rank does
// not take part.
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/gpu/gpu_ranks.h"

namespace accel {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NcclTest, CollectivesOfTwoRanks) {
  on_gpu_ranks(2, {}, [](Accelerator& accelerator) {
    const std::int64_t rank = accelerator.process_index();
    const torch::Tensor row = torch::tensor({{rank, 10 + rank}}, accelerator.device());
    EXPECT_THAT(runtime::values(accelerator.gather(row)), ElementsAre(0, 10, 1, 11));
    EXPECT_THAT(runtime::values(accelerator.gather(row[0][0])), ElementsAre(0, 1));
    EXPECT_THAT(runtime::values(accelerator.reduce(row)), ElementsAre(1, 21));
    EXPECT_THAT(runtime::values(accelerator.reduce(row, torch::kMax)), ElementsAre(1, 11));
    EXPECT_THAT(runtime::values(accelerator.broadcast(row, 1)), ElementsAre(1, 11));
    const torch::Tensor ragged = torch::ones({rank + 1}, row.options());
    EXPECT_THAT(runtime::values(accelerator.gather(accelerator.pad_across_processes(ragged))),
                ElementsAre(1, 0, 1, 1));
    EXPECT_THAT(accelerator.gather_object({std::string(static_cast<std::size_t>(rank), 'x')}),
                ElementsAre("", "x"));
    if (rank == 1) accelerator.set_trigger();
    EXPECT_TRUE(accelerator.check_trigger());
    accelerator.synchronize_rng_states();
    accelerator.wait_for_everyone();
  });
}

// Tensors of every kind. The calls do not wait for the GPU, and every read does.
TEST(NcclTest, CollectivesOfAnyTensor) {
  on_gpu_ranks(2, {}, [](Accelerator& accelerator) {
    const std::int64_t rank = accelerator.process_index();
    const torch::Tensor numbers = torch::tensor({{rank, 10 + rank}}, accelerator.device());
    const torch::Tensor gathered = torch::tensor({{0, 10}, {1, 11}}, numbers.options());
    for (const auto dtype :
         {torch::kByte, torch::kChar, torch::kShort, torch::kInt, torch::kLong, torch::kHalf,
          torch::kBFloat16, torch::kFloat, torch::kDouble, torch::kComplexFloat}) {
      const torch::Tensor mine = numbers.to(dtype);
      EXPECT_TRUE(torch::equal(accelerator.gather(mine), gathered.to(dtype))) << dtype;
      EXPECT_TRUE(torch::equal(accelerator.broadcast(mine, 1), gathered[1].view({1, 2}).to(dtype)))
          << dtype;
      if (dtype == torch::kShort) continue;  // NCCL cannot add these.
      EXPECT_TRUE(torch::equal(accelerator.reduce(mine),
                               torch::tensor({{1, 21}}, numbers.options()).to(dtype)))
          << dtype;
    }
    const torch::Tensor flags = numbers == 1;  // {{false, false}} and {{true, false}}.
    EXPECT_TRUE(torch::equal(accelerator.gather(flags), gathered == 1));
    EXPECT_TRUE(torch::equal(accelerator.broadcast(flags, 1), (gathered == 1)[1].view({1, 2})));
    EXPECT_TRUE(
        torch::equal(accelerator.reduce(flags, torch::kMax), (gathered == 1)[1].view({1, 2})));

    const torch::Tensor scalar = numbers[0][1];
    EXPECT_THAT(runtime::values(accelerator.gather(scalar)), ElementsAre(10, 11));
    EXPECT_EQ(accelerator.reduce(scalar).item<std::int64_t>(), 21);
    EXPECT_EQ(accelerator.broadcast(scalar, 1).item<std::int64_t>(), 11);
    EXPECT_EQ(accelerator.reduce(scalar.to(torch::kFloat), torch::kMean).item<float>(), 10.5f);

    const torch::Tensor columns = torch::arange(6, numbers.options()).view({2, 3}).t() + rank;
    EXPECT_FALSE(columns.is_contiguous());
    EXPECT_THAT(runtime::values(accelerator.reduce(columns)), ElementsAre(1, 7, 3, 9, 5, 11));
    EXPECT_THAT(runtime::values(accelerator.broadcast(columns, 1)), ElementsAre(1, 4, 2, 5, 3, 6));
  });
}

TEST(NcclTest, CollectivesOfEmptyTensors) {
  on_gpu_ranks(2, {}, [](Accelerator& accelerator) {
    const std::int64_t rank = accelerator.process_index();
    const torch::Tensor none = torch::empty({0, 3}, accelerator.device());
    EXPECT_EQ(accelerator.gather(none).sizes(), none.sizes());
    EXPECT_EQ(accelerator.reduce(none).sizes(), none.sizes());
    EXPECT_EQ(accelerator.broadcast(none).sizes(), none.sizes());
    const torch::Tensor ragged =
        torch::ones({2 * rank, 1}, torch::TensorOptions(accelerator.device()).dtype(torch::kLong));
    const torch::Tensor padded = accelerator.pad_across_processes(ragged, {.pad_index = 7});
    EXPECT_THAT(runtime::values(accelerator.gather(padded)), ElementsAre(7, 7, 1, 1));
  });
}

TEST(NcclTest, TensorsOfTheHostTravelBetweenHosts) {
  on_gpu_ranks(2, {}, [](Accelerator& accelerator) {
    const torch::Tensor host = torch::tensor({std::int64_t{accelerator.process_index()}});
    for (const torch::Tensor& mine : {host, host.to(accelerator.device())}) {
      const torch::Tensor all = accelerator.gather(mine);
      EXPECT_EQ(all.device(), mine.device());
      EXPECT_THAT(runtime::values(all), ElementsAre(0, 1));
      EXPECT_THAT(runtime::values(accelerator.reduce(mine)), ElementsAre(1));
      EXPECT_THAT(runtime::values(accelerator.broadcast(mine, 1)), ElementsAre(1));
    }
  });
}

// Queues several seconds of work. Then no call may wait until it is done.
TEST(NcclTest, NoCallWaitsForTheGpu) {
  on_gpu_ranks(2, {}, [](Accelerator& accelerator) {
    const torch::Tensor factor = torch::rand({8192, 8192}, accelerator.device());
    torch::Tensor product = torch::mm(factor, factor);
    const auto exchange = [&] {
      accelerator.broadcast(product[0]);
      return std::pair(accelerator.gather_for_metrics(product[0]),
                       accelerator.reduce(product[0], torch::kMean));
    };
    exchange();  // The first calls allocate memory, which waits for the GPU.
    torch::cuda::synchronize();
    for (int i = 0; i < 100; ++i) torch::mm_out(product, factor, factor);
    c10::Event busy(c10::kCUDA);
    busy.record(c10::impl::VirtualGuardImpl(c10::kCUDA).getStream(accelerator.device()));
    if (!accelerator.is_main_process()) accelerator.set_trigger();
    EXPECT_TRUE(accelerator.check_trigger());
    EXPECT_THAT(accelerator.gather_object({"x"}), ElementsAre("x", "x"));
    EXPECT_EQ(accelerator.broadcast_object("y"), "y");
    accelerator.synchronize_rng_states();
    accelerator.wait_for_everyone();
    const auto [gathered, reduced] = exchange();
    EXPECT_FALSE(busy.query()) << "a call waited for the GPU";
    EXPECT_EQ(gathered.sizes(), torch::IntArrayRef({2 * 8192}));
    EXPECT_TRUE(torch::allclose(reduced, product[0]));
  });
}

TEST(NcclTest, TheMainProcessGoesFirst) {
  const std::string file = testing::TempDir() + "/prepared";
  on_gpu_ranks(2, {}, [&](Accelerator& accelerator) {
    accelerator.main_process_first([&] {
      EXPECT_EQ(std::filesystem::exists(file), !accelerator.is_main_process());
      std::ofstream{file};
    });
    EXPECT_TRUE(std::filesystem::exists(file));
    // The main process does not wait for the others' bodies.
    accelerator.wait_for_everyone();
    accelerator.on_main_process([&] { std::filesystem::remove(file); });
    accelerator.wait_for_everyone();
    EXPECT_FALSE(std::filesystem::exists(file));
  });
}

// Waits for `file`, then ends this process without calling its destructors, because these would
// wait for the peer.
[[noreturn]] void leave_when_there_is(const std::string& file) {
  while (!std::filesystem::exists(file)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::_Exit(0);
}

TEST(NcclTest, ACallThatOneRankDoesNotReachNamesIt) {
  const std::string done = testing::TempDir() + "/done";
  on_gpu_ranks(2, {.timeout = std::chrono::seconds(8)}, [&](Accelerator& accelerator) {
    accelerator.wait_for_everyone();
    if (!accelerator.is_main_process()) leave_when_there_is(done);
    try {
      const torch::Tensor all = accelerator.gather(torch::ones({1}, accelerator.device()));
      all.sum().item<float>();  // Blocks until NCCL is aborted.
      accelerator.wait_for_everyone();
      ADD_FAILURE() << "went on without rank 1";
    } catch (const CommunicationError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("rank 0 of 2: gather (all_gather) failed"),
                                      HasSubstr("rank 1 has not called it")));
    }
    // The GPU works again in this process.
    EXPECT_EQ(torch::ones({2}, accelerator.device()).sum().item<float>(), 2);
    std::ofstream{done};
    std::_Exit(testing::Test::HasFailure() ? 1 : 0);
  });
}

// The host does not wait in backward(), so the program would block when it waits for the GPU.
TEST(NcclTest, GradientsThatOneRankDoesNotReduceNameIt) {
  const std::string done = testing::TempDir() + "/gradients_done";
  on_gpu_ranks(2, {.timeout = std::chrono::seconds(8)}, [&](Accelerator& accelerator) {
    auto model = accelerator.prepare(small_network());
    const torch::Tensor x = inputs().to(accelerator.device());
    // In the second pass LibTorch orders its buckets again, and waits on the host.
    for (int i = 0; i < 2; ++i) accelerator.backward(model(x).sum());
    if (!accelerator.is_main_process()) leave_when_there_is(done);
    try {
      accelerator.backward(model(x).sum());
      for (const auto& parameter : model->parameters()) parameter.grad().sum().item<float>();
      accelerator.wait_for_everyone();
      ADD_FAILURE() << "went on without rank 1";
    } catch (const CommunicationError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("rank 0 of 2: backward failed"),
                                      HasSubstr("rank 1 has not called it")));
    }
    std::ofstream{done};
    std::_Exit(testing::Test::HasFailure() ? 1 : 0);
  });
}

}  // namespace
}  // namespace accel
