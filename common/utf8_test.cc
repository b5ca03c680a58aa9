#include "common/utf8.h"

#include <gtest/gtest.h>

namespace accel::common {
namespace {

TEST(Utf8, WellFormed) {
  for (const char* text : {"", "plain", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80",
                           "\xED\x9F\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "a\xC3\xA9z"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  EXPECT_EQ(Utf8Length("a\xC3\xA9"), 1u);
  EXPECT_EQ(Utf8Length("\xC3\xA9z"), 2u);
  EXPECT_EQ(Utf8Length("\xF0\x9F\x98\x80"), 4u);
}

TEST(Utf8, Malformed) {
  for (const char* text :
       {"\x80", "\xC0\xAF", "\xC1\xBF", "\xC3", "\xC3(", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82",
        "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "fine\xFF"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

TEST(ShownLength, IsZeroForCharactersThatATerminalObeys) {
  for (const char* text : {"a", " ", "ö", "値", "😀", "\u00a0", "\u2026", "\u061b", "\u2065"}) {
    EXPECT_EQ(ShownLength(text), Utf8Length(text)) << text;
    EXPECT_GT(ShownLength(text), 0u) << text;
  }
  for (const char* text : {"\n", "\x1b", "\x7f", "\u0080", "\u009f", "\u061c", "\u200e", "\u200f",
                           "\u2028", "\u2029", "\u202a", "\u202e", "\u2066", "\u2069", "\xff"}) {
    EXPECT_EQ(ShownLength(text), 0u) << text;
  }
}

}  // namespace
}  // namespace accel::common
