#include "weights/core/shown.h"

#include <gtest/gtest.h>

namespace accel::weights {
namespace {

TEST(ShownTest, NamesAreKept) {
  EXPECT_EQ(shown("layers.0.weight"), "layers.0.weight");
  EXPECT_EQ(shown("größe 文"), "größe 文");
  EXPECT_EQ(shown(""), "");
}

TEST(ShownTest, WhatATerminalObeysIsEscaped) {
  EXPECT_EQ(shown("a\x1b[2J\n"), "a\\x1b[2J\\x0a");
  EXPECT_EQ(shown("\xff"), "\\xff");
  EXPECT_EQ(shown("a\u202eb"), "a\\xe2\\x80\\xaeb");
}

TEST(ShownTest, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(shown(std::string(128, 'x')), std::string(128, 'x'));
  EXPECT_EQ(shown(std::string(129, 'x')), std::string(128, 'x') + "...");
  EXPECT_EQ(shown(std::string(127, 'x') + "ä"), std::string(127, 'x') + "...");
}

}  // namespace
}  // namespace accel::weights
