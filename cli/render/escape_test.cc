#include "cli/render/escape.h"

#include <gtest/gtest.h>

namespace accel::cli {
namespace {

TEST(EscapeControls, KeepsText) {
  EXPECT_EQ(EscapeControls("loss 0.3 \\ [x] größer 値 😀"), "loss 0.3 \\ [x] größer 値 😀");
}

TEST(EscapeControls, EscapesTerminalSequences) {
  EXPECT_EQ(EscapeControls("\x1b[31mred\x1b[0m"), "\\x1b[31mred\\x1b[0m");
  EXPECT_EQ(EscapeControls(std::string("a\n\r\t\0\x7f", 6)), "a\\n\\r\\t\\x00\\x7f");
  EXPECT_EQ(EscapeControls("\xc2\x9b"
                           "31m"),
            "\\xc2\\x9b31m");  // The C1 control CSI as one character.
}

TEST(EscapeControls, EscapesCharactersThatTurnTextRound) {
  EXPECT_EQ(EscapeControls("job\u202egpj.x"), "job\\xe2\\x80\\xaegpj.x");
  EXPECT_EQ(EscapeControls(EscapeControls("\u202e")), EscapeControls("\u202e"));
}

TEST(EscapeControls, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(EscapeControls("a\xff"
                           "b"),
            "a\\xffb");
  EXPECT_EQ(EscapeControls("\xc3"), "\\xc3");                    // Cut off.
  EXPECT_EQ(EscapeControls("\xc0\xaf"), "\\xc0\\xaf");           // Overlong.
  EXPECT_EQ(EscapeControls("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // A surrogate.
  EXPECT_EQ(EscapeControls("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
  EXPECT_EQ(EscapeControls("\xe2\x82"
                           "x"),
            "\\xe2\\x82x");
}

TEST(DisplayWidth, CountsCharacters) {
  EXPECT_EQ(DisplayWidth(""), 0u);
  EXPECT_EQ(DisplayWidth("größer"), 6u);
}

}  // namespace
}  // namespace accel::cli
