// A world with GPUs, without a GPU: the ranks use a fake device and a fake NCCL.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "accel/errors.h"
#include "runtime/comm/communicator.h"
#include "runtime/testing/fake_device.h"
#include "runtime/testing/fake_nccl.h"
#include "runtime/testing/ranks.h"

namespace accel::runtime {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::int64_t> values(const at::Tensor& tensor) {
  const at::Tensor here = tensor.cpu();
  const auto* first = here.const_data_ptr<std::int64_t>();
  return {first, first + here.numel()};
}

at::Tensor two_on_device(std::int64_t first) {
  return at::arange(first, first + 2).to(kFakeDevice);
}

// Returns the error that is thrown as soon as the watch has given up.
std::string error_of_queued_call(Communicator& world) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < end) {
    try {
      world.check();
    } catch (const CommunicationError& error) {
      return error.what();
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
  return "no error";
}

TEST(GpuWorldTest, TensorsOfHostAndGpuAreExchangedWhereTheyAre) {
  on_ranks(2, [] {
    const auto world = join_fake_gpus();
    const std::int64_t rank = world->rank();
    const at::Tensor on_device = world->all_gather(two_on_device(10 * rank));
    EXPECT_EQ(on_device.device(), kFakeDevice);
    EXPECT_THAT(values(on_device), ElementsAre(0, 1, 10, 11));
    const at::Tensor on_host = world->all_gather(at::full({1}, rank, at::kLong));
    EXPECT_TRUE(on_host.is_cpu());
    EXPECT_THAT(values(on_host), ElementsAre(0, 1));
    EXPECT_THROW(world->all_gather(at::empty({1}, at::Device(at::kMeta))), std::invalid_argument);
  });
}

// None of these calls would return if it were queued behind the call that does not end.
TEST(GpuWorldTest, HostsDecideWhileTheGpuIsBusy) {
  on_ranks(2, [] {
    const auto world = join_fake_gpus();
    const std::int64_t rank = world->rank();
    set_fake_device_stuck(true);
    world->all_gather(two_on_device(rank));
    EXPECT_THAT(world->all_gather_number(rank), ElementsAre(0, 1));
    EXPECT_THAT(world->broadcast_numbers({rank + 5, 6}), ElementsAre(5, 6));
    EXPECT_THAT(world->all_gather_bytes(std::string(static_cast<std::size_t>(rank), 'x')),
                ElementsAre("", "x"));
    EXPECT_EQ(world->broadcast_bytes(rank == 1 ? "from 1" : "", 1), "from 1");
    at::Tensor sum = at::full({2}, rank + 1, at::kLong);
    world->all_reduce_sum(sum);
    EXPECT_THAT(values(sum), ElementsAre(3, 3));
    world->barrier();
    set_fake_device_stuck(false);
  });
}

TEST(GpuWorldTest, ACallThatOneRankDoesNotReachIsTheErrorOfTheNextCalls) {
  const std::string done = testing::TempDir() + "/done";
  on_ranks(2, [&] {
    const auto world = join_fake_gpus(std::chrono::seconds(2));
    if (world->rank() == 1) {
      while (!std::filesystem::exists(done)) std::this_thread::sleep_for(milliseconds(5));
      std::_Exit(0);
    }
    set_fake_device_stuck(true);
    {
      const OperationScope scope(world.get(), "gather");
      world->all_gather(two_on_device(0));
    }
    const std::string text = error_of_queued_call(*world);
    EXPECT_THAT(text, AllOf(HasSubstr("rank 0 of 2: gather (all_gather) failed"),
                            HasSubstr("rank 1 has not called it")));
    try {
      world->barrier();
      ADD_FAILURE() << "a later call did not throw";
    } catch (const CommunicationError& error) {
      EXPECT_EQ(error.what(), text);
    }
    std::ofstream{done};
  });
}

// Rank 0 waits in a call between GPUs, where NCCL would notice nothing over shared memory.
void wait_for_a_peer_that_dies(Communicator& world) {
  if (world.rank() == 1) {
    world.barrier();
    kill(getpid(), SIGKILL);
  }
  set_fake_device_stuck(true);
  world.all_gather(two_on_device(0));
  world.barrier();
}

TEST(GpuWorldTest, APeerThatDiesIsNamedLongBeforeTheTimeout) {
  on_ranks(2,
           [] {
             const auto world = join_fake_gpus();
             wait_for_a_peer_that_dies(*world);
             const auto begin = std::chrono::steady_clock::now();
             EXPECT_THAT(error_of_queued_call(*world),
                         HasSubstr("rank 1 is gone: its process has ended"));
             EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
             EXPECT_THROW(world->barrier(), CommunicationError);
           },
           {}, {{1, -SIGKILL}});
}

TEST(GpuWorldTest, AProgramThatNeverSeesTheErrorDoesNotSucceed) {
  on_ranks(2,
           [] {
             {
               const auto world = join_fake_gpus();
               wait_for_a_peer_that_dies(*world);
               while (fake_device_is_stuck())
                 std::this_thread::yield();  // As a read of the result.
             }
             std::exit(0);
           },
           {}, {{0, 1}, {1, -SIGKILL}});
}

}  // namespace
}  // namespace accel::runtime
