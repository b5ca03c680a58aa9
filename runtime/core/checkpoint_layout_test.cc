#include "runtime/core/checkpoint_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace accel::runtime {
namespace {

using ::testing::ElementsAre;

TEST(CheckpointLayout, TheFirstFileOfAKindHasNoNumber) {
  EXPECT_EQ(model_file(0), "model.safetensors");
  EXPECT_EQ(model_file(1), "model_1.safetensors");
  EXPECT_EQ(optimizer_file(2), "optimizer_2.bin");
  EXPECT_EQ(custom_file(0), "custom_checkpoint_0.bin");
  EXPECT_EQ(random_states_file(0), "random_states_0.safetensors");
  EXPECT_EQ(model_folder(0), "model");
  EXPECT_EQ(gradients_folder(1), "gradients_1");
  EXPECT_EQ(moments_folder(0, 0), "optimizer");
  EXPECT_EQ(moments_folder(1, 2), "optimizer_1_of_model_2");
}

TEST(CheckpointLayout, OnlyPlainNumbersAreCheckpoints) {
  EXPECT_EQ(iteration_of(checkpoint_name(12)), 12u);
  for (const char* other : {"checkpoint_", "checkpoint_x", "checkpoint_1.partial", "checkpoint_-1",
                            "checkpoint_01", "checkpoint_99999999999999999999", "x_1", ""}) {
    EXPECT_EQ(iteration_of(other), std::nullopt) << other;
  }
}

TEST(CheckpointLayout, CheckpointsAreSortedByNumber) {
  EXPECT_THAT(checkpoints_among({"checkpoint_10", "checkpoint_9", "notes", "checkpoint_8"}),
              ElementsAre("checkpoint_8", "checkpoint_9", "checkpoint_10"));
}

TEST(CheckpointLayout, OnlyCheckpointsAreFoundByTheirSuffix) {
  EXPECT_THAT(checkpoints_with_suffix({"checkpoint_2.partial", "notes.partial", ".partial",
                                       "checkpoint_3", "x", "checkpoint_1.partial"},
                                      kPartialSuffix),
              ElementsAre("checkpoint_2", "checkpoint_1"));
}

TEST(CheckpointLayout, TheNextNumberFollowsTheHighest) {
  EXPECT_EQ(next_checkpoint_number({}), 0u);
  EXPECT_EQ(next_checkpoint_number({"notes", "checkpoint_12.partial"}), 0u);
  EXPECT_EQ(next_checkpoint_number({"checkpoint_10", "checkpoint_9"}), 11u);
}

}  // namespace
}  // namespace accel::runtime
