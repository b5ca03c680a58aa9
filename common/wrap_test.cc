#include "common/wrap.h"

#include <gtest/gtest.h>

namespace accel::common {
namespace {

TEST(Wrap, BreaksAtSpacesAndIndents) {
  EXPECT_EQ(Wrap("one two three four", 12, 2), "  one two\n  three four");
}

TEST(Wrap, KeepsLongWordsEmptyLinesAndIndentedLines) {
  EXPECT_EQ(Wrap("a\n\nabcdefghijkl b\n  kept   as it is", 8, 1),
            " a\n\n abcdefghijkl\n b\n   kept   as it is");
}

TEST(Wrap, EmptyTextIsEmpty) { EXPECT_EQ(Wrap("", 80, 4), ""); }

}  // namespace
}  // namespace accel::common
