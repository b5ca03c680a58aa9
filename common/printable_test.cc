#include "common/printable.h"

#include <gtest/gtest.h>

namespace accel::common {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

TEST(PrintableTest, ValidTextStays) {
  for (const char* text : {"", "plain\ttext", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
                           "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF"}) {
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(PrintableTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(Printable(absl::string_view("a\0b\x1b[31m\x7f\n\r", 11)),
            "a\\x00b\\x1b[31m\\x7f\\x0a\\x0d");
}

TEST(PrintableTest, CharactersThatATerminalObeysAreEscaped) {
  // The C1 controls NEXT LINE and CSI, a line separator, and a change of direction.
  EXPECT_EQ(Printable("a\xC2\x85"
                      "b\xC2\x9B"
                      "31m"),
            "a\\xc2\\x85b\\xc2\\x9b31m");
  EXPECT_EQ(Printable("\u2028\u202E"), "\\xe2\\x80\\xa8\\xe2\\x80\\xae");
  EXPECT_EQ(Printable("\u00A0"), "\u00A0");
}

TEST(ShortenedTest, LosesTheMiddleAndNoHalfCharacter) {
  EXPECT_EQ(Shortened("0123456789abcdef", 16), "0123456789abcdef");
  EXPECT_EQ(Shortened("0123456789abcdefg", 16), "01234 ... cdefg");
  std::string text;
  for (int i = 0; i < 20; ++i) text += "\xE2\x82\xAC";
  EXPECT_EQ(Shortened(text, 16), "\xE2\x82\xAC ... \xE2\x82\xAC");
}

TEST(PrintableTest, InvalidSequencesAreReplaced) {
  for (const char* bad : {"\x80", "\xC3", "\xFF", "\xC0", "\xF5"}) {
    EXPECT_EQ(Printable(bad), kReplacement) << bad;
  }
  // Overlong, surrogate, beyond the last code point, cut off: one mark for each byte.
  EXPECT_EQ(Printable("\xC0\xAF"), std::string(kReplacement) + kReplacement);
  EXPECT_EQ(Printable("\xE0\x80\xAF").size(), 9u);
  EXPECT_EQ(Printable("\xED\xA0\x80").size(), 9u);
  EXPECT_EQ(Printable("\xF4\x90\x80\x80").size(), 12u);
  EXPECT_EQ(Printable("\xE2\x82"), std::string(kReplacement) + kReplacement);
  EXPECT_EQ(Printable("\xE2\x82x"), std::string(kReplacement) + kReplacement + "x");
}

}  // namespace
}  // namespace accel::common
