#include "runtime/core/sharding/unit_trace.h"

#include <gtest/gtest.h>

namespace accel::runtime {
namespace {

UnitTrace trace_of(const std::vector<std::string>& entries) {
  UnitTrace trace;
  for (const std::string& entry : entries) trace.add(entry);
  return trace;
}

TEST(UnitTraceTest, EqualTracesHaveEqualDigestsAndOthersDoNot) {
  EXPECT_EQ(trace_of({"gather a", "gather b"}).digest(),
            trace_of({"gather a", "gather b"}).digest());
  EXPECT_NE(trace_of({"gather a", "gather b"}).digest(),
            trace_of({"gather b", "gather a"}).digest());
  EXPECT_NE(trace_of({"gather a"}).digest(), trace_of({"gather a", "gather a"}).digest());
  EXPECT_GE(trace_of({"gather a"}).digest(), 0);
}

TEST(UnitTraceTest, TheFirstDifferenceIsNamedWithAllRanks) {
  const std::string usual = trace_of({"gather a", "gather b", "reduce b"}).bytes();
  EXPECT_EQ(
      difference_between({usual, trace_of({"gather a", "gather c", "reduce b"}).bytes(), usual}),
      "rank 0, rank 2 did gather b; rank 1 did gather c");
  EXPECT_EQ(difference_between({usual, trace_of({"gather a"}).bytes()}),
            "rank 1 did no more; rank 0 did gather b");
}

TEST(UnitTraceTest, OnlyTheLastEntriesAreCompared) {
  UnitTrace one, other;
  one.add("gather x");
  other.add("gather y");
  for (std::size_t i = 0; i < UnitTrace::kKept; ++i) {
    one.add("gather a");
    other.add("gather a");
  }
  EXPECT_NE(one.digest(), other.digest());
  EXPECT_EQ(difference_between({one.bytes(), other.bytes()}),
            "the ranks did different things too long ago to name them");
  one.add("gather b");
  other.add("reduce a");
  EXPECT_EQ(difference_between({one.bytes(), other.bytes()}),
            "rank 0 did gather b; rank 1 did reduce a");
}

TEST(UnitTraceTest, MalformedBytesAreAnEmptyTrace) {
  const std::string usual = trace_of({"gather a"}).bytes();
  for (const char* bytes : {"", "x", "-1\n", "18446744073709551616\ngather a\n", "1x\n"}) {
    EXPECT_EQ(difference_between({usual, bytes}), "rank 1 did no more; rank 0 did gather a")
        << bytes;
  }
}

}  // namespace
}  // namespace accel::runtime
