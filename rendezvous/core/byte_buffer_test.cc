#include "rendezvous/core/byte_buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>

namespace accel::rendezvous {
namespace {

TEST(ByteBufferTest, AppendsAssignsAndRemoves) {
  MemoryBudget budget(1000);
  ByteBuffer buffer(&budget);
  ASSERT_TRUE(buffer.Append("hello "));
  ASSERT_TRUE(buffer.Append("world"));
  EXPECT_EQ(buffer.view(), "hello world");
  buffer.RemovePrefix(6);
  EXPECT_EQ(buffer.view(), "world");
  ASSERT_TRUE(buffer.Assign("x"));
  EXPECT_EQ(buffer.view(), "x");
  ASSERT_TRUE(buffer.Reserve(2));
  std::memcpy(buffer.tail(), "yz", 2);
  buffer.Extend(2);
  EXPECT_EQ(buffer.view(), "xyz");
}

TEST(ByteBufferTest, ChargesWhatItHoldsAndGivesItBack) {
  MemoryBudget budget(1000);
  {
    ByteBuffer buffer(&budget);
    ASSERT_TRUE(buffer.Append(std::string(100, 'a')));
    EXPECT_EQ(budget.used(), buffer.capacity());
    ByteBuffer moved = std::move(buffer);
    EXPECT_EQ(budget.used(), moved.capacity());
    moved.Free();
    EXPECT_EQ(budget.used(), 0u);
    ASSERT_TRUE(moved.Append("again"));
  }
  EXPECT_EQ(budget.used(), 0u);
}

TEST(ByteBufferTest, RefusesWhatDoesNotFitAndKeepsItsContent) {
  MemoryBudget budget(100);
  ByteBuffer buffer(&budget);
  ASSERT_TRUE(buffer.Append("kept"));
  EXPECT_FALSE(buffer.Append(std::string(200, 'a')));
  EXPECT_FALSE(buffer.Assign(std::string(200, 'a')));
  EXPECT_EQ(buffer.view(), "kept");
}

TEST(ByteBufferTest, UsesTheBudgetToItsLastByte) {
  MemoryBudget budget(100);
  ByteBuffer buffer(&budget);
  ASSERT_TRUE(buffer.Append(std::string(90, 'a')));
  EXPECT_TRUE(buffer.Append(std::string(10, 'b')));
  EXPECT_FALSE(buffer.Append("c"));
}

TEST(ByteBufferTest, ASmallValueDoesNotKeepTheMemoryOfALargeOne) {
  MemoryBudget budget(2 << 20);
  ByteBuffer buffer(&budget);
  ASSERT_TRUE(buffer.Assign(std::string(1 << 20, 'a')));
  ASSERT_TRUE(buffer.Assign("small"));
  EXPECT_LT(budget.used(), 1000u);
  EXPECT_EQ(buffer.view(), "small");
}

TEST(ByteBufferTest, GrowsThroughEverySizeWithoutLosingAByte) {
  MemoryBudget budget(16 << 20);
  std::string expected;
  {
    ByteBuffer buffer(&budget);
    for (int i = 0; expected.size() < (3 << 20); ++i) {
      const std::string piece(1 + i * 37 % 5000, static_cast<char>(i));
      expected += piece;
      ASSERT_TRUE(buffer.Append(piece));
    }
    EXPECT_EQ(buffer.view(), expected);
    ASSERT_TRUE(buffer.Assign("small again"));
    EXPECT_EQ(buffer.view(), "small again");
    EXPECT_LT(budget.used(), 1000u);
  }
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace accel::rendezvous
