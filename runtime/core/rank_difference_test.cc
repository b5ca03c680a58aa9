#include "runtime/core/rank_difference.h"

#include <gtest/gtest.h>

namespace accel::runtime {
namespace {

TEST(RankDifferenceTest, EqualTextsHaveNoDifference) {
  EXPECT_EQ(rank_difference({}), std::nullopt);
  EXPECT_EQ(rank_difference({"a\nb"}), std::nullopt);
  EXPECT_EQ(rank_difference({"a\nb\n", "a\nb\n", "a\nb\n"}), std::nullopt);
}

TEST(RankDifferenceTest, NamesTheFirstDifferingLineOfTheLowestDifferingRank) {
  EXPECT_EQ(rank_difference({"a\nb\nc\n", "a\nb\nc\n", "a\nx\ny\n", "z\n"}),
            "x on rank 2, and b on rank 0");
}

TEST(RankDifferenceTest, OneTextMayHaveMoreLines) {
  EXPECT_EQ(rank_difference({"a\nb\n", "a\n"}), "nothing more on rank 1, and b on rank 0");
  EXPECT_EQ(rank_difference({"", "a\n"}), "a on rank 1, and nothing more on rank 0");
  EXPECT_EQ(rank_difference({"a\n", "a\n\n"}), " on rank 1, and nothing more on rank 0");
}

}  // namespace
}  // namespace accel::runtime
