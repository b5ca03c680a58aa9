// Parts of a world that communicate by themselves.
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "accel/errors.h"
#include "runtime/comm/communicator.h"
#include "runtime/process/read_environment.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"

namespace accel::runtime {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<Communicator> join(milliseconds timeout = std::chrono::seconds(30)) {
  return Communicator::join(read_environment(), at::kCPU, timeout);
}

// Ranks 0 to 3 hold shards of one replica each with a neighbour: 0 and 1, 2 and 3. Rank r and r + 2
// hold the same shard.
void use_rows_and_columns() {
  const auto world = join();
  const std::int64_t rank = world->rank();
  const auto row = world->split(rank / 2), column = world->split(rank % 2);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->size(), 2);
  EXPECT_EQ(row->rank(), rank % 2);
  EXPECT_EQ(column->rank(), rank / 2);
  if (rank < 2) {
    EXPECT_THAT(row->all_gather_number(10 + rank), ElementsAre(10, 11));
  }
  EXPECT_THAT(column->all_gather_number(rank), ElementsAre(rank % 2, rank % 2 + 2));
  at::Tensor sum = at::full({100'000}, static_cast<float>(rank));
  row->all_reduce_sum(sum);
  EXPECT_EQ(sum[99'999].item<float>(), rank < 2 ? 1 : 5);
  world->all_reduce_sum(sum);
  EXPECT_EQ(sum[0].item<float>(), 12);
}

TEST(SplitTest, PartsCommunicateIndependently) {
  on_ranks(4, use_rows_and_columns);
  on_ranks(4, use_rows_and_columns, {{"ACCEL_SHARED_MEMORY", "0"}});
}

// Rank 0 serves the store, as without a launcher's.
TEST(SplitTest, ARankAloneHasNoCommunicator) {
  on_ranks(3, [] {
    const auto world = join();
    const auto part = world->split(world->rank() == 1 ? -7 : 4);
    EXPECT_EQ(part == nullptr, world->rank() == 1);
    if (part != nullptr) {
      EXPECT_EQ(part->broadcast_bytes(std::to_string(world->rank()), 1), "2");
      const auto again = part->split(0);
      EXPECT_THAT(again->all_gather_number(world->rank()), ElementsAre(0, 2));
    }
    world->barrier();
  });
}

TEST(SplitTest, AnErrorSaysWhichRanksArePartOfIt) {
  const std::string done = testing::TempDir() + "/split_done";
  on_ranks(3, [&] {
    // Longer than the ranks that come may stand still.
    const auto world = join(std::chrono::seconds(6));
    const auto part = world->split(world->rank() == 1 ? 0 : 1);
    if (world->rank() == 2) {
      EXPECT_THAT(error_of<CommunicationError>([&] { part->barrier(); }),
                  AllOf(HasSubstr("rank 1 of 2: barrier (ranks 0, 2) failed"),
                        HasSubstr("rank 0 has not called it")));
      std::ofstream{done};
    }
    while (!std::filesystem::exists(done)) std::this_thread::sleep_for(milliseconds(5));
  });
}

}  // namespace
}  // namespace accel::runtime
