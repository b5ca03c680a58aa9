#include "runtime/core/scale_round.h"

#include <gtest/gtest.h>

namespace accel::runtime {
namespace {

const int kOne = 0, kTwo = 0;

ScaleRound round() {
  return ScaleRound(DynamicLossScale({.init_scale = 64, .growth_interval = 1}));
}

TEST(ScaleRoundTest, MovesAtTheNextLossOutsideOfBatches) {
  ScaleRound rule = round();
  rule.begin_loss({});
  rule.begin_loss({});
  EXPECT_EQ(rule.scale(), 64) << "nothing has stepped";
  rule.add_step(&kOne, false);
  rule.add_step(&kTwo, true);
  EXPECT_EQ(rule.scale(), 64);
  EXPECT_EQ(rule.after().scale(), 32) << "one overflow counts for all";
  rule.begin_loss({});
  EXPECT_EQ(rule.scale(), 32);
  rule.begin_loss({});
  EXPECT_EQ(rule.scale(), 32);
}

TEST(ScaleRoundTest, MovesOnceForABatch) {
  ScaleRound rule = round();
  for (std::uint64_t batch = 0; batch < 3; ++batch) {
    for (const int* optimizer : {&kOne, &kTwo}) {
      rule.begin_loss(batch);
      EXPECT_EQ(rule.scale(), 64 << batch);
      rule.add_step(optimizer, false);
    }
  }
}

TEST(ScaleRoundTest, EachFurtherStepOfAnOptimizerBeginsARound) {
  ScaleRound rule = round();
  for (int step = 0; step < 8; ++step) {
    rule.begin_loss(7);
    rule.add_step(&kOne, true);
  }
  EXPECT_EQ(rule.after().scale(), 4);
}

}  // namespace
}  // namespace accel::runtime
