#include "runtime/core/block_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace accel::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Block = BlockPool::Block;

void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

TEST(BlockPoolTest, AFreeBlockOfTheSameSizeIsTakenTheLatestFirst) {
  BlockPool pool;
  for (const std::uintptr_t i : {1, 2, 3}) pool.add({at(i), i == 3 ? 20u : 10u});
  EXPECT_EQ(pool.take(10), nullptr);
  for (const std::uintptr_t i : {2, 1, 3}) EXPECT_TRUE(pool.put(at(i)));
  EXPECT_EQ(pool.free_bytes(), 40u);
  EXPECT_EQ(pool.take(15), nullptr);
  EXPECT_EQ(pool.take(10), at(1));
  EXPECT_EQ(pool.take(10), at(2));
  EXPECT_EQ(pool.take(10), nullptr);
  EXPECT_EQ(pool.used_bytes(), 20u);
  EXPECT_EQ(pool.free_bytes(), 20u);
}

TEST(BlockPoolTest, OthersBlocksAreUnknown) {
  BlockPool pool;
  pool.add({at(1), 10});
  EXPECT_FALSE(pool.put(at(2)));
  EXPECT_TRUE(pool.put(at(1)));
  EXPECT_FALSE(pool.put(at(1)));
}

TEST(BlockPoolTest, TheOldestGiveWaySoThatTheMostInUseIsNotExceeded) {
  BlockPool pool;
  for (const std::uintptr_t i : {1, 2, 3}) pool.add({at(i), 10});
  for (const std::uintptr_t i : {2, 1, 3}) pool.put(at(i));
  EXPECT_THAT(pool.make_room(0), IsEmpty());  // 30 bytes were in use.
  EXPECT_THAT(pool.make_room(11), ElementsAre(Block{at(2), 10}, Block{at(1), 10}));
  pool.add({at(4), 11});
  EXPECT_EQ(pool.free_bytes(), 10u);
  EXPECT_THAT(pool.make_room(40), ElementsAre(Block{at(3), 10}));
}

TEST(BlockPoolTest, ABlockThatIsNotUsedForLongIsGivenBack) {
  BlockPool pool;
  pool.add({at(1), 10});
  pool.add({at(2), 20});
  pool.put(at(1));
  pool.put(at(2));
  for (std::uint64_t i = 0; i < BlockPool::kKept / 2; ++i) {
    EXPECT_THAT(pool.make_room(0), IsEmpty());
    ASSERT_EQ(pool.take(20), at(2));
    pool.put(at(2));
  }
  EXPECT_THAT(pool.make_room(0), ElementsAre(Block{at(1), 10}));
}

TEST(BlockPoolTest, TheTotalIsNeverMoreThanTheMostInUse) {
  std::mt19937 random(1);
  BlockPool pool;
  std::vector<Block> used;
  std::size_t most = 0, in_use = 0, total = 0;
  std::uintptr_t next = 0;
  int taken = 0;
  for (int i = 0; i < 100'000; ++i) {
    if (!used.empty() && random() % 100 < 50) {
      std::swap(used[random() % used.size()], used.back());
      ASSERT_TRUE(pool.put(used.back().memory));
      in_use -= used.back().size;
      used.pop_back();
      continue;
    }
    Block block{nullptr, 1 + random() % 20};
    block.memory = pool.take(block.size);
    if (block.memory != nullptr) {
      ++taken;
    } else {
      for (const Block& unneeded : pool.make_room(block.size)) total -= unneeded.size;
      block.memory = at(++next);
      pool.add(block);
      total += block.size;
    }
    used.push_back(block);
    in_use += block.size;
    most = std::max(most, in_use);
    ASSERT_LE(total, most);
    ASSERT_EQ(pool.used_bytes(), in_use);
    ASSERT_EQ(pool.used_bytes() + pool.free_bytes(), total);
  }
  EXPECT_GT(taken, 10'000);
}

}  // namespace
}  // namespace accel::runtime
