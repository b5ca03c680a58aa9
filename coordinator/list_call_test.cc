#include "coordinator/list_call.h"

#include <gtest/gtest.h>

namespace accel::coordinator {
namespace {

TEST(AnswerRoomTest, IsBoundedAndOneAnswerAloneAlwaysHasRoom) {
  AnswerRoom room;
  EXPECT_TRUE(room.Take(2 * AnswerRoom::kMostBytes));
  EXPECT_FALSE(room.Take(1));
  room.Give(2 * AnswerRoom::kMostBytes);
  EXPECT_TRUE(room.Take(AnswerRoom::kMostBytes - 1));
  EXPECT_TRUE(room.Take(1));
  EXPECT_FALSE(room.Take(1));
  room.Give(1);
  EXPECT_TRUE(room.Take(1));
}

}  // namespace
}  // namespace accel::coordinator
