#include "runtime/core/checkpoint_retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace accel::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CheckpointRetention, TheOldestByNumberAreDeletedFirst) {
  const std::vector<std::string> names{"checkpoint_10", "checkpoint_9", "notes", "checkpoint_8"};
  const std::string last = "checkpoint_10";
  EXPECT_THAT(checkpoints_to_delete(names, last, 1), ElementsAre("checkpoint_8", "checkpoint_9"));
  EXPECT_THAT(checkpoints_to_delete(names, last, 2), ElementsAre("checkpoint_8"));
  EXPECT_THAT(checkpoints_to_delete(names, last, 3), IsEmpty());
  EXPECT_THAT(checkpoints_to_delete(names, last, std::nullopt), IsEmpty());
}

TEST(CheckpointRetention, IncompleteOnesAreDeletedBeforeTheOldest) {
  const std::vector<std::string> names{"checkpoint_0", "checkpoint_1", "checkpoint_2"};
  const std::set<std::string> incomplete{"checkpoint_1"};
  EXPECT_THAT(checkpoints_to_delete(names, "checkpoint_2", 2, incomplete),
              ElementsAre("checkpoint_1"));
  EXPECT_THAT(checkpoints_to_delete(names, "checkpoint_2", 3, incomplete), IsEmpty());
}

TEST(CheckpointRetention, TheCheckpointThatWasJustWrittenIsKept) {
  const std::vector<std::string> names{"checkpoint_3", "checkpoint_0", "checkpoint_2"};
  EXPECT_THAT(checkpoints_to_delete(names, "checkpoint_0", 1),
              ElementsAre("checkpoint_2", "checkpoint_3"));
  EXPECT_THAT(checkpoints_to_delete(names, "checkpoint_0", 2), ElementsAre("checkpoint_2"));
  EXPECT_THAT(checkpoints_to_delete({"checkpoint_0"}, "checkpoint_0", 1), IsEmpty());
}

}  // namespace
}  // namespace accel::runtime
