#include "runtime/core/call_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace accel::runtime {
namespace {

using testing::HasSubstr;

TEST(CallCheckTest, DescribesTensors) {
  EXPECT_EQ(describe({.operation = "barrier"}), "barrier");
  EXPECT_EQ(describe({.operation = "gather", .tensors = {{"int64", {2, 3}}, {"float32", {}}}}),
            "gather: int64 [2, 3], float32 []");
}

TEST(CallCheckTest, AFreeDimensionMayDiffer) {
  const auto padded = [](std::int64_t dimension) {
    return describe(
        {.operation = "pad", .tensors = {{"int64", {2, 3}}}, .free_dimension = dimension});
  };
  EXPECT_EQ(padded(0), "pad: int64 [*, 3]");
  EXPECT_EQ(padded(-1), "pad: int64 [2, *]");
  EXPECT_EQ(padded(2), "pad: int64 [2, 3]");
}

TEST(CallCheckTest, EqualCallsAreNoMismatch) {
  EXPECT_FALSE(describe_mismatch({}).has_value());
  EXPECT_FALSE(describe_mismatch({"a", "a", "a"}).has_value());
}

TEST(CallCheckTest, NamesTheRankThatDiffersWithATable) {
  const auto text =
      describe_mismatch({"gather: int64 [3]", "gather: int64 [2]", "gather: int64 [2]"});
  ASSERT_TRUE(text.has_value());
  EXPECT_THAT(*text, HasSubstr("Cannot apply desired operation due to shape mismatches"));
  EXPECT_THAT(*text, HasSubstr("Processes that differ: 0\n"));
  EXPECT_THAT(*text, HasSubstr("- Process 0: gather: int64 [3]\n  - Process 1: gather: int64 [2]"));
}

TEST(CallCheckTest, OnATieTheLowestRanksCallCountsAsUsual) {
  EXPECT_THAT(*describe_mismatch({"reduce", "barrier"}), HasSubstr("Processes that differ: 1\n"));
}

}  // namespace
}  // namespace accel::runtime
