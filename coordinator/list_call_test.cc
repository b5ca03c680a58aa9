#include "coordinator/list_call.h"

#include <gtest/gtest.h>

namespace accel::coordinator {
namespace {

TEST(AnswerRoomTest, IsBoundedAndOneAnswerAloneAlwaysHasRoom) {
  AnswerRoom room;
  EXPECT_TRUE(room.Take(2 * AnswerRoom::kMaxBytes));
  EXPECT_FALSE(room.Take(1));
  room.Give(2 * AnswerRoom::kMaxBytes);
  EXPECT_TRUE(room.Take(AnswerRoom::kMaxBytes - 1));
  EXPECT_TRUE(room.Take(1));
  EXPECT_FALSE(room.Take(1));
  room.Give(1);
  EXPECT_TRUE(room.Take(1));
}

}  // namespace
}  // namespace accel::coordinator
