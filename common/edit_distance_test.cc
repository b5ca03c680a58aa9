#include "common/edit_distance.h"

#include <gtest/gtest.h>

namespace accel::common {
namespace {

TEST(EditDistanceTest, CountsTheLettersThatChange) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("shard", "shard"), 0u);
  EXPECT_EQ(EditDistance("shrad", "shard"), 2u);
  EXPECT_EQ(EditDistance("shad", "shard"), 1u);
  EXPECT_EQ(EditDistance("shards", "shard"), 1u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("abc", ""), 3u);
}

}  // namespace
}  // namespace accel::common
