#include "weights/core/parse_json.h"

#include <gtest/gtest.h>

#include <string>

namespace accel::weights {
namespace {

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(ParseJson, ReadsJsonAndDiscardsTheRest) {
  EXPECT_EQ(parse_json(R"({"a":[1,"]}"]})")["a"][1], "]}");
  for (const char* text : {"", "{", "[1,]", "{\"a", "]"}) {
    EXPECT_TRUE(parse_json(text).is_discarded()) << text;
  }
}

TEST(ParseJson, DiscardsWhatNestsDeeply) {
  EXPECT_EQ(parse_json(nested(32)).dump(), nested(32));
  EXPECT_TRUE(parse_json(nested(33)).is_discarded());
  EXPECT_TRUE(parse_json(nested(1 << 20)).is_discarded());
  EXPECT_TRUE(parse_json(std::string(1 << 20, '[')).is_discarded());
}

TEST(ParseJson, BracketsInStringsDoNotNest) {
  const std::string brackets(100, '[');
  EXPECT_EQ(parse_json("\"" + brackets + "\""), brackets);
  EXPECT_EQ(parse_json("\"\\\"" + brackets + "\""), "\"" + brackets);
  EXPECT_TRUE(parse_json("[\"\\\\\"," + nested(32) + "]").is_discarded());
}

}  // namespace
}  // namespace accel::weights
