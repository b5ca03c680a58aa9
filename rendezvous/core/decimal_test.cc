#include "rendezvous/core/decimal.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace accel::rendezvous {
namespace {

TEST(DecimalTest, ReadsAsStollDoes) {
  EXPECT_EQ(ParseLeadingInt64("0"), 0);
  EXPECT_EQ(ParseLeadingInt64("42"), 42);
  EXPECT_EQ(ParseLeadingInt64("-42"), -42);
  EXPECT_EQ(ParseLeadingInt64("+42"), 42);
  EXPECT_EQ(ParseLeadingInt64(" \t\n7 "), 7);
  EXPECT_EQ(ParseLeadingInt64("12abc"), 12);
  EXPECT_EQ(ParseLeadingInt64("007"), 7);
  EXPECT_EQ(ParseLeadingInt64("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ParseLeadingInt64("-9223372036854775808"), std::numeric_limits<int64_t>::min());
}

TEST(DecimalTest, RefusesWhatStollThrowsFor) {
  for (const char* text : {"", " ", "abc", "-", "+", "+-1", "--1", "9223372036854775808"}) {
    EXPECT_EQ(ParseLeadingInt64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace accel::rendezvous
