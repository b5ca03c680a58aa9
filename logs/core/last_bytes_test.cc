#include "logs/core/last_bytes.h"

#include <gtest/gtest.h>

namespace accel::logs {
namespace {

TEST(LastBytesTest, KeepsAllThatFits) {
  LastBytes last(8);
  EXPECT_EQ(last.text(), "");
  last.Add("ab\n");
  last.Add("cd\nef");
  EXPECT_EQ(last.text(), "ab\ncd\nef");
}

TEST(LastBytesTest, KeepsTheNewestOfWhatDoesNotFit) {
  LastBytes last(4);
  last.Add("abcdef");
  EXPECT_EQ(last.text(), "cdef");
  last.Add("g");
  EXPECT_EQ(last.text(), "defg");
  last.Add("hijklmnop");
  EXPECT_EQ(last.text(), "mnop");
}

TEST(LastBytesTest, ALineWithoutItsBeginningGoesIfAnotherFollows) {
  LastBytes last(8);
  last.Add("0123456\r\nab");
  EXPECT_EQ(last.text(), "ab");
  last.Add("cdefghijk\n");
  EXPECT_EQ(last.text(), "efghijk\n") << "nothing follows";
}

}  // namespace
}  // namespace accel::logs
