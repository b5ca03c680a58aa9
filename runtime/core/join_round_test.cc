#include "runtime/core/join_round.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace accel::runtime {
namespace {

TEST(JoinRoundTest, IsOverWhenAllHaveEnded) {
  EXPECT_TRUE(join_round({0, 0, 0}, 2).over);
  EXPECT_FALSE(join_round({0, 1, 0}, 2).over);
}

TEST(JoinRoundTest, EndedRanksLearnWhatTheOthersDo) {
  std::vector<AnnouncedModel> models(kMaxJoinedModels);
  models[0] = {.takes_part = true, .buffers = true};
  models[7] = {.takes_part = true};
  models[30] = {.takes_part = true, .buffers = true};
  const std::int64_t bits = announcement_of(models);
  EXPECT_GT(bits, 0);
  const JoinRound round = join_round({0, bits, bits, 0}, models.size());
  EXPECT_EQ(round.leader, 1);
  EXPECT_EQ(round.models, models);
}

TEST(JoinRoundTest, RefusesDifferentPasses) {
  const std::int64_t one = announcement_of({{.takes_part = true}, {}});
  const std::int64_t other = announcement_of({{}, {.takes_part = true}});
  EXPECT_THROW(join_round({one, 0, other}, 2), std::logic_error);
}

}  // namespace
}  // namespace accel::runtime
