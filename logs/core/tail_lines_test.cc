#include "logs/core/tail_lines.h"

#include <gmock/gmock.h>

namespace accel::logs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LastLinesTest, LinesEndWithEither) {
  EXPECT_THAT(LastLinesOf("a\nb\r\nc\r 50%\r100%", {}), ElementsAre("a", "b", "c", " 50%", "100%"));
  EXPECT_THAT(LastLinesOf("", {}), IsEmpty());
  EXPECT_THAT(LastLinesOf("\n\r\n\n", {}), IsEmpty());
}

TEST(LastLinesTest, Limits) {
  EXPECT_THAT(LastLinesOf("a\nb\nc\nd\n", {2, 100}), ElementsAre("c", "d"));
  EXPECT_THAT(LastLinesOf("aaaa\nbbbb\ncccc\n", {9, 9}), ElementsAre("bbbb", "cccc"));
  EXPECT_THAT(LastLinesOf("aaaa\nbbbbcccc\n", {9, 5}), ElementsAre("bcccc"));
  // An escape counts with the length that it is shown with. No UTF-8 character is cut.
  EXPECT_THAT(LastLinesOf("a\n\x01\x02\n", {9, 8}), ElementsAre("\\x01\\x02"));
  EXPECT_THAT(LastLinesOf("x\xC3\xA9y", {9, 2}), ElementsAre("y"));
}

}  // namespace
}  // namespace accel::logs
