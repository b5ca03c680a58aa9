#include "runtime/core/checkpoint_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace accel {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CheckpointLayout, TheFirstOfAKindHasNoNumber) {
  EXPECT_EQ(model_file(0), "model.safetensors");
  EXPECT_EQ(model_file(1), "model_1.safetensors");
  EXPECT_EQ(optimizer_file(2), "optimizer_2.bin");
  EXPECT_EQ(custom_file(0), "custom_checkpoint_0.bin");
  EXPECT_EQ(random_states_file(0), "random_states_0.safetensors");
}

TEST(CheckpointLayout, OnlyPlainNumbersAreCheckpoints) {
  EXPECT_EQ(iteration_of(checkpoint_name(12)), 12u);
  for (const char* other : {"checkpoint_", "checkpoint_x", "checkpoint_1.partial", "checkpoint_-1",
                            "checkpoint_01", "checkpoint_99999999999999999999", "x_1", ""}) {
    EXPECT_EQ(iteration_of(other), std::nullopt) << other;
  }
}

TEST(CheckpointLayout, TheOldestByNumberGoFirst) {
  const std::vector<std::string> names{"checkpoint_10", "checkpoint_9", "notes", "checkpoint_8"};
  EXPECT_THAT(checkpoints_among(names),
              ElementsAre("checkpoint_8", "checkpoint_9", "checkpoint_10"));
  const std::string last = "checkpoint_10";
  EXPECT_THAT(checkpoints_to_remove(names, last, 1), ElementsAre("checkpoint_8", "checkpoint_9"));
  EXPECT_THAT(checkpoints_to_remove(names, last, 2), ElementsAre("checkpoint_8"));
  EXPECT_THAT(checkpoints_to_remove(names, last, 3), IsEmpty());
  EXPECT_THAT(checkpoints_to_remove(names, last, std::nullopt), IsEmpty());
}

TEST(CheckpointLayout, TornOnesGoBeforeTheOldest) {
  const std::vector<std::string> names{"checkpoint_0", "checkpoint_1", "checkpoint_2"};
  const std::set<std::string> torn{"checkpoint_1"};
  EXPECT_THAT(checkpoints_to_remove(names, "checkpoint_2", 2, torn), ElementsAre("checkpoint_1"));
  EXPECT_THAT(checkpoints_to_remove(names, "checkpoint_2", 3, torn), IsEmpty());
}

TEST(CheckpointLayout, WhatWasJustWrittenStays) {
  const std::vector<std::string> names{"checkpoint_3", "checkpoint_0", "checkpoint_2"};
  EXPECT_THAT(checkpoints_to_remove(names, "checkpoint_0", 1),
              ElementsAre("checkpoint_2", "checkpoint_3"));
  EXPECT_THAT(checkpoints_to_remove(names, "checkpoint_0", 2), ElementsAre("checkpoint_2"));
  EXPECT_THAT(checkpoints_to_remove({"checkpoint_0"}, "checkpoint_0", 1), IsEmpty());
}

}  // namespace
}  // namespace accel
