#include "agent/core/line_filter.h"

#include <gtest/gtest.h>

#include "common/status_matchers.h"

namespace accel::agent {
namespace {

std::string Filter(const std::string& pattern, const std::string& text, size_t piece) {
  auto filter = LineFilter::Make(pattern).value();
  std::string out;
  for (size_t at = 0; at < text.size(); at += piece) filter->Add(text.substr(at, piece), &out);
  filter->Flush(&out);
  return out;
}

TEST(LineFilterTest, LinesThatMatchPassWhateverThePieces) {
  const std::string text = "loss 1\nother\n\nloss 2\rbar\rLOSS\r\nloss without end";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    EXPECT_EQ(Filter("^loss .*[12]?", text, piece), "loss 1\nloss 2\rloss without end") << piece;
    EXPECT_EQ(Filter("(?i)LOSS$", text, piece), "LOSS\r") << piece;
    EXPECT_EQ(Filter("^$", text, piece), "\n\n") << piece;
  }
}

TEST(LineFilterTest, LongLinesAreCutAndBounded) {
  auto filter = LineFilter::Make("y").value();
  std::string out;
  const std::string line(3 * LineFilter::kMaxLineBytes, 'x');
  for (size_t at = 0; at < line.size(); at += 1000) {
    filter->Add(line.substr(at, 1000), &out);
    ASSERT_LE(filter->held(), LineFilter::kMaxLineBytes);
  }
  filter->Add("y\n", &out);
  EXPECT_EQ(out, "y\n");
  // A long line at a stretch has the same pieces.
  filter->Add(line + "y\n", &out);
  EXPECT_EQ(out, "y\ny\n");
}

TEST(LineFilterTest, WhatIsNoExpressionIsExplained) {
  EXPECT_THAT(LineFilter::Make("(a").status(),
              testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                ::testing::HasSubstr("not a regular expression: missing )")));
}

TEST(LineFilterTest, BytesThatAreNoTextAreLinesToo) {
  EXPECT_EQ(Filter("b", std::string("\xff\0b\n\xfe\n", 6), 6), std::string("\xff\0b\n", 4));
}

}  // namespace
}  // namespace accel::agent
