#include "cli/config/core/value.h"

#include <gtest/gtest.h>

namespace accel::cli {
namespace {

TEST(PlainScalar, HasTheTypeOfYaml11) {
  EXPECT_EQ(PlainScalar("yes"), Value{true});
  EXPECT_EQ(PlainScalar("Off"), Value{false});
  EXPECT_EQ(PlainScalar("yEs"), Value{"yEs"});
  EXPECT_EQ(PlainScalar("12"), Value{int64_t{12}});
  EXPECT_EQ(PlainScalar("-1_000"), Value{int64_t{-1000}});
  EXPECT_EQ(PlainScalar("010"), Value{int64_t{8}});
  EXPECT_EQ(PlainScalar("0x1F"), Value{int64_t{31}});
  EXPECT_EQ(PlainScalar("1.5"), Value{1.5});
  EXPECT_EQ(PlainScalar("1.0e+3"), Value{1000.0});
  EXPECT_EQ(PlainScalar(""), Value{});
  EXPECT_EQ(PlainScalar("~"), Value{});
}

TEST(PlainScalar, LeavesTextsAlone) {
  for (const char* text :
       {"1e8", "0,1", "10.0.0.1", "1:30", "BertLayer", "09", "1.0e3", "-", "."}) {
    EXPECT_EQ(PlainScalar(text), Value{std::string(text)}) << text;
  }
}

TEST(PythonText, PrintsLikePython) {
  EXPECT_EQ(PythonText(Value{true}), "True");
  EXPECT_EQ(PythonText(Value{}), "None");
  EXPECT_EQ(PythonText(Value{1.0}), "1.0");
  EXPECT_EQ(PythonText(Value{0.1}), "0.1");
  EXPECT_EQ(PythonText(Value{1e8}), "100000000.0");
  EXPECT_EQ(PythonText(Value{1e16}), "1e+16");
  EXPECT_EQ(PythonText(Value{1e-5}), "1e-05");
  EXPECT_EQ(PythonText(Value{std::vector<Value>{{"a"}, {int64_t{1}}}}), "['a', 1]");
}

TEST(ParseTruth, KnowsPythonsWords) {
  for (const char* word : {"y", "YES", "t", "True", "on", "1"}) EXPECT_EQ(ParseTruth(word), true);
  for (const char* word : {"n", "NO", "f", "False", "off", "0"}) EXPECT_EQ(ParseTruth(word), false);
  for (const char* word : {"", "maybe", "2", "truee"}) EXPECT_EQ(ParseTruth(word), std::nullopt);
}

TEST(IsFalse, HoldsForEmptyValues) {
  EXPECT_TRUE(IsFalse(Value{}));
  EXPECT_TRUE(IsFalse(Value{"no"}));
  EXPECT_TRUE(IsFalse(Value{std::vector<Value>{}}));
  EXPECT_FALSE(IsFalse(Value{"tpu-v4"}));
}

}  // namespace
}  // namespace accel::cli
