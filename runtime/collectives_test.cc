// Collectives and sharded loaders with several real processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <stdexcept>
#include <unordered_map>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "runtime/process/read_environment.h"
#include "runtime/testing/datasets.h"
#include "runtime/testing/ranks.h"

namespace accel::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::int64_t> first_numbers(std::int64_t count) { return values(torch::arange(count)); }

// Returns all samples of one epoch, as gather_for_metrics() returns them.
template <typename Loader>
std::vector<std::int64_t> gathered(Accelerator& accelerator, Loader& loader) {
  std::vector<std::int64_t> all;
  for (torch::Tensor& batch : loader) {
    for (std::int64_t value : values(accelerator.gather_for_metrics(batch))) all.push_back(value);
  }
  return all;
}

TEST(CollectivesTest, GatherReduceAndBarrier) {
  on_ranks(3, [] {
    Accelerator accelerator;
    const std::int64_t rank = accelerator.process_index();
    EXPECT_EQ(accelerator.num_processes(), 3);
    EXPECT_EQ(accelerator.is_main_process(), rank == 0);
    EXPECT_EQ(accelerator.is_last_process(), rank == 2);
    EXPECT_THAT(values(accelerator.gather(torch::tensor(rank))), ElementsAre(0, 1, 2));
    const torch::Tensor row = torch::tensor({{rank, 10 * rank}});
    EXPECT_THAT(values(accelerator.gather(row)), ElementsAre(0, 0, 1, 10, 2, 20));
    EXPECT_THAT(values(accelerator.reduce(row)), ElementsAre(3, 30));
    EXPECT_THAT(values(accelerator.reduce(row, torch::kMax)), ElementsAre(2, 20));
    EXPECT_THAT(values(accelerator.reduce(row, torch::kNone)), ElementsAre(rank, 10 * rank));
    EXPECT_FLOAT_EQ(accelerator.reduce(row.to(torch::kFloat), torch::kMean)[0][1].item<float>(),
                    10);
    EXPECT_THROW(accelerator.reduce(row, torch::kMean), std::invalid_argument);
    EXPECT_THROW(accelerator.broadcast(row, accelerator.num_processes()), std::invalid_argument);
    EXPECT_THROW(accelerator.broadcast_object("", -1), std::invalid_argument);
    accelerator.wait_for_everyone();
  });
}

TEST(CollectivesTest, StructuresOfTensors) {
  on_ranks(2, [] {
    Accelerator accelerator;
    const torch::Tensor rank = torch::tensor(std::int64_t{accelerator.process_index()});
    const std::tuple nested{std::map<std::string, torch::Tensor>{{"a", rank}, {"b", rank + 10}},
                            std::pair{std::vector<torch::Tensor>{rank + 20}, rank + 30}};
    const auto [named, pair] = accelerator.gather(nested);
    EXPECT_THAT(values(named.at("a")), ElementsAre(0, 1));
    EXPECT_THAT(values(named.at("b")), ElementsAre(10, 11));
    EXPECT_THAT(values(pair.first[0]), ElementsAre(20, 21));
    EXPECT_THAT(values(pair.second), ElementsAre(30, 31));
    EXPECT_EQ(std::get<0>(accelerator.reduce(nested)).at("b").item<std::int64_t>(), 21);
    EXPECT_EQ(std::get<1>(accelerator.broadcast(nested, 1)).second.item<std::int64_t>(), 31);
  });
}

// gather() takes the same containers that a data loader moves.
TEST(CollectivesTest, ContainersOfTensors) {
  static_assert(nested_tensors<std::array<torch::Tensor, 2>>);
  static_assert(nested_tensors<std::map<int, std::deque<torch::data::TensorExample>>>);
  static_assert(!nested_tensors<std::unordered_map<std::string, torch::Tensor>>,
                "each rank would have an order of its own");
  static_assert(!nested_tensors<std::pair<torch::Tensor, std::string>>);
  static_assert(fixed_tensors<std::pair<torch::Tensor, torch::data::Example<>>>);
  static_assert(!fixed_tensors<std::vector<torch::Tensor>>);
  on_ranks(2, [] {
    Accelerator accelerator;
    const torch::Tensor rank = torch::tensor(std::int64_t{accelerator.process_index()});
    const auto array = accelerator.gather(std::array{rank, rank + 10});
    EXPECT_THAT(values(array[0]), ElementsAre(0, 1));
    EXPECT_THAT(values(array[1]), ElementsAre(10, 11));
    const std::map<int, std::deque<torch::Tensor>> numbered{{7, {rank}}, {2, {rank + 20}}};
    const auto gathered = accelerator.gather(numbered);
    EXPECT_THAT(values(gathered.at(7)[0]), ElementsAre(0, 1));
    EXPECT_THAT(values(gathered.at(2)[0]), ElementsAre(20, 21));
    const auto rows = accelerator.split_between_processes(std::array{torch::arange(4)});
    EXPECT_THAT(values(rows[0]),
                ElementsAre(2 * accelerator.process_index(), 2 * accelerator.process_index() + 1));
    const std::unordered_map<std::string, torch::Tensor> unordered{{"a", rank}};
    EXPECT_EQ(send_to_device(unordered, torch::kMeta).at("a").device(), torch::kMeta);
  });
}

TEST(CollectivesTest, ExamplesOfTensors) {
  on_ranks(2, [] {
    Accelerator accelerator;
    const torch::Tensor rank = torch::tensor(std::int64_t{accelerator.process_index()});
    const auto both = accelerator.gather(torch::data::Example<>(rank, rank + 10));
    EXPECT_THAT(values(both.data), ElementsAre(0, 1));
    EXPECT_THAT(values(both.target), ElementsAre(10, 11));
    EXPECT_THAT(values(accelerator.gather(torch::data::TensorExample(rank)).data),
                ElementsAre(0, 1));
    auto loader = accelerator.prepare(make_data_loader<torch::data::samplers::SequentialSampler>(
        torch::data::datasets::TensorDataset(torch::arange(3))
            .map(torch::data::transforms::Stack<torch::data::TensorExample>()),
        2));
    std::vector<std::int64_t> seen;
    for (const auto& batch : loader) seen = values(accelerator.gather_for_metrics(batch).data);
    EXPECT_EQ(seen, first_numbers(3)) << "without the repeated one";
  });
}

TEST(CollectivesTest, ATriggerOfOneRankIsSeenByAllOnce) {
  on_ranks(3, [] {
    Accelerator accelerator;
    EXPECT_FALSE(accelerator.check_trigger());
    if (accelerator.process_index() == 1) accelerator.set_trigger();
    EXPECT_TRUE(accelerator.check_trigger());
    EXPECT_FALSE(accelerator.check_trigger());
  });
}

TEST(CollectivesTest, ObjectsOfAnyBytesAndNumber) {
  on_ranks(3, [] {
    Accelerator accelerator;
    const auto rank = static_cast<std::size_t>(accelerator.process_index());
    const std::string zero(1, '\0');
    EXPECT_THAT(accelerator.gather_object(std::vector<std::string>(rank, zero)),
                ElementsAre(zero, zero, zero));
    EXPECT_EQ(accelerator.broadcast_object(std::string(rank, 'x'), 2), "xx");
    EXPECT_EQ(accelerator.broadcast_object(std::string(rank, 'x')), "");
  });
}

std::string refusal(const auto& call) {
  try {
    call();
  } catch (const DistributedOperationError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(CollectivesTest, DebugModeNamesTheRankThatDiffers) {
  const Variables debug{{"ACCELERATE_DEBUG_MODE", "true"}};
  on_ranks(
      3,
      [] {
        Accelerator accelerator({.timeout = std::chrono::seconds(20)});
        const bool odd = accelerator.process_index() == 1;
        EXPECT_EQ(accelerator.gather(torch::zeros(2)).size(0), 6);
        const torch::Tensor mine = torch::zeros(odd ? 3 : 2);
        for (const std::string& text : {refusal([&] { accelerator.gather(mine); }),
                                        refusal([&] { accelerator.reduce(mine); }),
                                        refusal([&] { accelerator.broadcast(mine); })}) {
          EXPECT_THAT(text, HasSubstr("shape mismatches"));
          EXPECT_THAT(text, HasSubstr("Processes that differ: 1\n"));
          EXPECT_THAT(text, HasSubstr("Float [3]"));
        }
        const auto other_dtype = odd ? torch::kFloat : torch::kDouble;
        EXPECT_THAT(refusal([&] { accelerator.gather(torch::zeros(2, other_dtype)); }),
                    HasSubstr("Process 1: gather: Float [2]"));
        EXPECT_EQ(accelerator.pad_across_processes(mine).size(0), 3);
        EXPECT_THAT(refusal([&] {
                      odd ? accelerator.wait_for_everyone() : void(accelerator.gather(mine));
                    }),
                    HasSubstr("Process 1: wait_for_everyone"));
        accelerator.wait_for_everyone();
      },
      debug);
}

TEST(CollectivesTest, FurtherAcceleratorsShareTheWorld) {
  on_ranks(2, [] {
    Accelerator first;
    Accelerator second({.split_batches = true});
    EXPECT_EQ(values(first.gather(torch::tensor(std::int64_t{1}))).size(), 2u);
    EXPECT_EQ(values(second.gather(torch::tensor(std::int64_t{1}))).size(), 2u);
  });
}

// A port that no other process is given while this lives. A store of this process can listen on it,
// because both sockets have SO_REUSEADDR and this one does not listen.
class HeldPort {
 public:
  HeldPort() {
    const int on = 1;
    EXPECT_EQ(setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    number_ = ntohs(address.sin_port);
  }
  ~HeldPort() { close(fd_); }
  HeldPort(const HeldPort&) = delete;

  std::int64_t number() const { return number_; }

 private:
  const int fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::int64_t number_ = 0;
};

TEST(CollectivesTest, AWorldCanBeLeftAndJoinedAgain) {
  on_ranks(3, [] {
    for (int world = 0; world < 20; ++world) {
      Accelerator accelerator;
      const torch::Tensor mine =
          torch::tensor(std::int64_t{100} * world + accelerator.process_index());
      EXPECT_THAT(values(accelerator.gather(mine)),
                  ElementsAre(100 * world, 100 * world + 1, 100 * world + 2));
    }
  });
}

TEST(CollectivesTest, RankZeroServesTheStoreWithoutALauncher) {
  on_ranks(2, [] {
    const HeldPort held;
    std::int64_t port = 0;
    {
      auto communicator =
          Communicator::join(read_environment(), c10::kCPU, std::chrono::seconds(20));
      port = communicator->broadcast_number(held.number());
    }
    setenv("TORCHELASTIC_USE_AGENT_STORE", "False", 1);
    setenv("MASTER_PORT", std::to_string(port).c_str(), 1);
    Accelerator accelerator;
    accelerator.wait_for_everyone();
  });
}

TEST(CollectivesTest, ALostPeerIsAnErrorThatSaysSo) {
  on_ranks(2, [] {
    Accelerator accelerator({.timeout = std::chrono::seconds(20)});
    if (!accelerator.is_main_process()) _exit(0);
    try {
      for (;;) accelerator.wait_for_everyone();
    } catch (const CommunicationError& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 0 of 2: wait_for_everyone (barrier) failed"));
    }
  });
}

TEST(ShardedLoaderTest, MetricsCountEachSampleOnce) {
  for (int world_size : {2, 3}) {
    on_ranks(world_size, [] {
      for (const bool split : {false, true}) {
        Accelerator accelerator({.split_batches = split});
        for (std::int64_t length : {1, 2, 5, 6, 7, 17, 24, 25}) {
          auto loader = accelerator.prepare(
              make_data_loader<torch::data::samplers::SequentialSampler>(Numbers(length), 6));
          EXPECT_EQ(gathered(accelerator, loader), first_numbers(length)) << "length " << length;
        }
      }
    });
  }
}

TEST(ShardedLoaderTest, KnowsItsLengthAndItsLastBatch) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto loader = accelerator.prepare(
        make_data_loader<torch::data::samplers::SequentialSampler>(Numbers(21), 3));
    EXPECT_EQ(loader.size(), 4u);
    std::size_t step = 0;
    for (const torch::Tensor& batch : loader) {
      EXPECT_EQ(batch.size(0), 3);
      EXPECT_EQ(loader.end_of_dataloader(), ++step == 4);
      // One number per rank is not one row per sample, so it is never cut.
      EXPECT_EQ(accelerator.gather_for_metrics(torch::tensor(1.0)).size(0), 2);
    }
    EXPECT_EQ(step, 4u);
    EXPECT_FALSE(loader.end_of_dataloader());
  });
}

TEST(ShardedLoaderTest, AllRanksShareOneOrderThatChangesEachEpoch) {
  on_ranks(2, [] {
    Accelerator accelerator;
    torch::manual_seed(accelerator.process_index());
    auto loader =
        accelerator.prepare(make_data_loader<torch::data::samplers::RandomSampler>(Numbers(50), 5));
    const auto first = gathered(accelerator, loader), second = gathered(accelerator, loader);
    EXPECT_NE(first, second);
    EXPECT_THAT(first, ::testing::UnorderedElementsAreArray(first_numbers(50)));
    EXPECT_THAT(second, ::testing::UnorderedElementsAreArray(first_numbers(50)));
    loader.set_epoch(0);
    EXPECT_EQ(gathered(accelerator, loader), first);
  });
}

TEST(ShardedLoaderTest, ALoopThatIsLeftEarlyLeavesNothingBehind) {
  on_ranks(2, [] {
    Accelerator accelerator;
    for (std::size_t workers : {0, 2}) {
      auto loader = accelerator.prepare(make_data_loader<torch::data::samplers::SequentialSampler>(
          Numbers(10), torch::data::DataLoaderOptions(4).workers(workers)));
      for (const torch::Tensor& batch : loader) {
        EXPECT_EQ(batch.size(0), 4);
        break;
      }
      EXPECT_EQ(accelerator.gather_for_metrics(torch::zeros({4})).size(0), 8);
      EXPECT_EQ(gathered(accelerator, loader), first_numbers(10));
    }
  });
}

TEST(ShardedLoaderTest, UnevenBatchesRepeatNothing) {
  on_ranks(2, [] {
    Accelerator accelerator({.even_batches = false});
    auto loader = accelerator.prepare(
        make_data_loader<torch::data::samplers::SequentialSampler>(Numbers(7), 3));
    std::vector<std::int64_t> mine;
    for (const torch::Tensor& batch : loader) {
      for (std::int64_t value : values(batch)) mine.push_back(value);
    }
    if (accelerator.is_main_process()) {
      EXPECT_THAT(mine, ElementsAre(0, 1, 2, 6));
    } else {
      EXPECT_THAT(mine, ElementsAre(3, 4, 5));
    }
  });
}

}  // namespace
}  // namespace accel::runtime
