#include "runtime/core/sharding/sharding_report.h"

#include <gtest/gtest.h>

namespace accel::runtime {
namespace {

ReportedUnit unit(const std::string& name, std::int64_t elements, bool reshard = true) {
  return {.name = name,
          .elements = elements,
          .trainable_elements = elements,
          .bytes = 4 * elements,
          .trainable_bytes = 4 * elements,
          .reshard_after_forward = reshard};
}

ShardingOutline outline() {
  return {.units = {unit("", 1000, false), unit("layers.0", 400), unit("layers.1", 400),
                    unit("layers.2", 400), unit("head", 200)},
          .shard_ranks = 4};
}

TEST(ShardingReportTest, ARankHoldsItsShareAndTheUnitsInUse) {
  const ShardingBytes bytes = sharding_bytes(outline());
  EXPECT_EQ(bytes.parameters, 2400);  // 2400 parameters of 4 bytes over 4 ranks.
  EXPECT_EQ(bytes.gradients, 2400);
  EXPECT_EQ(bytes.gathered, 4 * (1000 + 400 + 400));
  EXPECT_EQ(bytes.reduced, 4 * (1000 + 400));  // The root's, and those of one layer.
}

TEST(ShardingReportTest, WithoutPrefetchOneUnitIsGathered) {
  ShardingOutline one = outline();
  one.prefetches = false;
  EXPECT_EQ(sharding_bytes(one).gathered, 4 * (1000 + 400));
  for (ReportedUnit& unit : one.units) unit.reshard_after_forward = false;
  EXPECT_EQ(sharding_bytes(one).gathered, 4 * 2400);
}

TEST(ShardingReportTest, TheUnitsAroundOneAreGatheredWithIt) {
  ShardingOutline nested = outline();
  nested.prefetches = false;
  nested.units.push_back(unit("head.inner", 300));
  EXPECT_EQ(sharding_bytes(nested).gathered, 4 * (1000 + 200 + 300));
}

// While a layer is in use, the next one is being gathered, so its copies are there as well.
TEST(ShardingReportTest, TheCopiesOfAGatherInBf16Count) {
  ShardingOutline rounded = outline();
  for (ReportedUnit& unit : rounded.units) {
    unit.copied_bytes = unit.bytes / 2 + unit.bytes / 2 / rounded.shard_ranks;
  }
  const std::int64_t of_layer = 4 * 400 / 2 + 4 * 400 / 8;
  EXPECT_EQ(sharding_bytes(rounded).gathered, 4 * (1000 + 400 + 400) + of_layer);
  EXPECT_EQ(sharding_bytes(rounded).parameters, 2400);
  const std::string text = sharding_text(rounded);
  EXPECT_NE(text.find("at the peak also 8.2 kB of gathered parameters, bf16 copies included, and"),
            std::string::npos)
      << text;
  rounded.prefetches = false;
  EXPECT_EQ(sharding_bytes(rounded).gathered, 4 * (1000 + 400) + of_layer);
}

// The root is gathered before all others, and its copies are freed before them.
TEST(ShardingReportTest, TheCopiesOfALargeRootCountWithoutOtherUnits) {
  ShardingOutline rounded = outline();
  rounded.units[0].copied_bytes = 2500;
  EXPECT_EQ(sharding_bytes(rounded).gathered, 4 * (1000 + 400 + 400));
  rounded.units[0].copied_bytes = 4000;
  EXPECT_EQ(sharding_bytes(rounded).gathered, 4 * 1000 + 4000);
}

TEST(ShardingReportTest, FrozenUnitsHaveNoGradients) {
  ShardingOutline frozen = outline();
  frozen.units[0].trainable_bytes = 0;
  const ShardingBytes bytes = sharding_bytes(frozen);
  EXPECT_EQ(bytes.parameters, 2400);
  EXPECT_EQ(bytes.gradients, 1400);
  EXPECT_EQ(bytes.reduced, 1600);
}

TEST(ShardingReportTest, IgnoredModulesAreWholeOnEachRank) {
  ShardingOutline with = outline();
  with.ignored = unit("", 600);
  with.ignored.trainable_elements = 100;
  with.ignored.trainable_bytes = 400;
  const ShardingBytes bytes = sharding_bytes(with);
  EXPECT_EQ(bytes.parameters, 2400 + 2400);
  EXPECT_EQ(bytes.gradients, 2400 + 400);
  EXPECT_EQ(bytes.gathered, sharding_bytes(outline()).gathered);
  const std::string text = sharding_text(with);
  EXPECT_NE(text.find("  (ignored modules)                                   600 parameters     "
                      "2.4 kB on each rank, not sharded\n"
                      "  5 units, 3000 parameters, 2500 trainable\n"),
            std::string::npos)
      << text;
}

TEST(ShardingReportTest, OffloadedPartsAreOnTheCpu) {
  ShardingOutline offloaded = outline();
  offloaded.offloads = true;
  EXPECT_NE(sharding_text(offloaded).find("take 4.8 kB, all in the CPU's memory\n"),
            std::string::npos);
}

TEST(ShardingReportTest, AlikeUnitsAreOneLine) {
  EXPECT_EQ(
      sharding_text(outline()),
      "sharding: FULL_SHARD over 4 ranks, 1 replica\n"
      "  (root)                                             1000 parameters     4.0 kB "
      "gathered  kept after forward\n"
      "  layers.0 to layers.2                                400 parameters     1.6 kB "
      "gathered  freed after forward\n"
      "  head                                                200 parameters      800 B "
      "gathered  freed after forward\n"
      "  5 units, 2400 parameters, 2400 trainable\n"
      "each rank holds 2.4 kB of parameters and 2.4 kB of gradients; the two moments of AdamW "
      "take 4.8 kB\n"
      "at the peak also 7.2 kB of gathered parameters and 5.6 kB of gradients that are not "
      "reduced yet, and the activations");
}

}  // namespace
}  // namespace accel::runtime
