#include "cli/json_object.h"

#include <gtest/gtest.h>

namespace accel::cli {
namespace {

TEST(JsonObject, KeepsTheOrderOfItsFields) {
  EXPECT_EQ(JsonObject::Versioned().Text("b", "x").Number("a", 3).Json("c", "[1]").Print(),
            R"({"schema_version": 1, "b": "x", "a": 3, "c": [1]})");
  EXPECT_EQ(JsonObject().Bool("a", true).Texts("b", {"x", "y\n"}).Texts("c", {}).Print(),
            R"({"a": true, "b": ["x", "y\n"], "c": []})");
  EXPECT_EQ(JsonObject().Print(), "{}");
}

TEST(JsonString, EscapesWhatJsonDoesNotAllow) {
  EXPECT_EQ(JsonString("a\"b\\c\nd\x01 é"), R"("a\"b\\c\nd\u0001 é")");
  EXPECT_EQ(JsonString("a\xff\xe2\x82"), "\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace accel::cli
