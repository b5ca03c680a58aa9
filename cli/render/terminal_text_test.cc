#include "cli/render/terminal_text.h"

#include <gtest/gtest.h>

namespace accel::cli {
namespace {

std::string Show(const std::string& text, size_t piece) {
  TerminalText terminal;
  std::string out;
  for (size_t at = 0; at < text.size(); at += piece) out += terminal.Add(text.substr(at, piece));
  return out + terminal.Flush();
}

TEST(TerminalTextTest, HarmlessTextPassesWhateverThePieces) {
  const std::string text = "a\tb\r\n\x1b[1;31mred\x1b[0m \x1b[K 50 % █ é 😀";
  for (size_t piece = 1; piece <= text.size(); ++piece) EXPECT_EQ(Show(text, piece), text) << piece;
}

TEST(TerminalTextTest, WhatATerminalWouldObeyIsEscaped) {
  constexpr char kText[] =
      "\x1b]0;title\a\x1b[2J\x1b[5A\b\0\x9b"
      "31m\xff\xe2\x28";
  const std::string text(kText, sizeof(kText) - 1);
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    EXPECT_EQ(Show(text, piece), "\\x1b]0;title\\x07\\x1b[2J\\x1b[5A\\x08\\x00\\x9b31m\\xff\\xe2(")
        << piece;
  }
}

TEST(TerminalTextTest, WhatIsCutOffAtTheEndIsEscaped) {
  EXPECT_EQ(Show("a\x1b[3", 10), "a\\x1b[3");
  EXPECT_EQ(Show("a\xe2\x96", 10), "a\\xe2\\x96");
  EXPECT_EQ(Show("\x1b[" + std::string(100, '1') + "m", 1), "\\x1b[" + std::string(100, '1') + "m");
}

}  // namespace
}  // namespace accel::cli
